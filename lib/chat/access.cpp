// Attributes, items, slices and iteration. What Python's own types offer besides a template's data is a
// method here or refused: it never counts as missing.

#include "chat/interpreter.hpp"
#include "chat/names.hpp"
#include "chat/text.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ml::chat {

namespace {

Value loop_attribute(const LoopState& loop, std::string_view name, Value missing) {
  const auto& items = loop.items->items;
  const auto count = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
  if (name == "index") return count(loop.index + 1);
  if (name == "index0") return count(loop.index);
  if (name == "first") return Value(loop.index == 0);
  if (name == "last") return Value(loop.index + 1 == items.size());
  if (name == "length") return count(items.size());
  if (name == "revindex") return count(items.size() - loop.index);
  if (name == "revindex0") return count(items.size() - loop.index - 1);
  if (name == "depth") return count(1);
  if (name == "depth0") return count(0);
  if (name == "previtem" && loop.index > 0) return items[loop.index - 1];
  if (name == "nextitem" && loop.index + 1 < items.size()) return items[loop.index + 1];
  return missing;
}

// Python's slice.indices: the first place and how many there are, for a sequence of n.
struct Places {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Places places(std::int64_t n, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
              std::int64_t step) {
  const std::int64_t low = step < 0 ? -1 : 0;
  const std::int64_t high = step < 0 ? n - 1 : n;
  const auto bound = [&](std::int64_t at) {
    if (at < 0) return std::max(at < -n ? low : at + n, low);
    return std::min(at, high);
  };
  const std::int64_t first = start ? bound(*start) : (step < 0 ? high : low);
  const std::int64_t last = stop ? bound(*stop) : (step < 0 ? low : high);
  const std::int64_t gap = step < 0 ? first - last : last - first;
  if (gap <= 0) return {};
  const std::uint64_t stride =
      step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  return {first, step, static_cast<std::int64_t>((static_cast<std::uint64_t>(gap) - 1) / stride) + 1};
}

// @return whether the value can bound a slice
bool take_bound(const Value& value, std::optional<std::int64_t>& bound) {
  if (std::holds_alternative<None>(value)) return true;
  if (!is_number(value) || std::holds_alternative<double>(value)) return false;
  bound = as_integer(value);
  return true;
}

}  // namespace

Result<Value> Interpreter::attribute(const Value& object, std::string_view name) {
  if (const auto* undefined = std::get_if<Undefined>(&object)) {
    return wrong(fmt::format("{} is undefined", *undefined->name));
  }
  ML_CHECK(spend(name.size() / 16));
  if (name.starts_with("__")) return not_known(fmt::format("the attribute '{}'", show_name(name)));
  switch (python_attribute(object, name)) {
    case PythonAttribute::none: break;
    case PythonAttribute::method: return Value(Opaque{"method"});
    case PythonAttribute::refused:
      return not_known(fmt::format("the attribute '{}' of a {}", name, type_name(object)));
  }
  if (const auto* dict = std::get_if<DictRef>(&object)) {
    ML_TRY(const Value* found, find_in(**dict, name));
    return found != nullptr ? *found : missing(fmt::format("'{}' of a dict", show_name(name)));
  }
  if (const auto* space = std::get_if<NamespaceRef>(&object)) {
    const Scope& scope = namespaces_[space->index];
    ML_CHECK(spend(name.size() / 16 * std::bit_width(scope.size())));
    const auto found = scope.find(name);
    return found != scope.end() ? found->second
                                : missing(fmt::format("'{}' of a namespace", show_name(name)));
  }
  Value none = missing(fmt::format("'{}' of a {}", show_name(name), type_name(object)));
  if (const auto* loop = std::get_if<LoopRef>(&object)) return loop_attribute(**loop, name, std::move(none));
  return none;
}

Result<Value> Interpreter::item(const Value& object, const Value& index) {
  if (const auto* undefined = std::get_if<Undefined>(&object)) {
    return wrong(fmt::format("{} is undefined", *undefined->name));
  }
  const auto* name = std::get_if<Text>(&index);
  if (const auto* dict = std::get_if<DictRef>(&object); dict != nullptr && name != nullptr) {
    ML_TRY(const Value* found, find_in(**dict, **name));
    if (found != nullptr) return *found;
  }
  if (name != nullptr) return attribute(object, **name);
  const bool number = is_number(index) && !std::holds_alternative<double>(index);
  Value none = missing("an item that is not there");
  if (!number) return none;
  std::int64_t at = as_integer(index);
  if (const auto* list = std::get_if<ListRef>(&object)) {
    if ((*list)->kind == ListKind::view || (*list)->kind == ListKind::generator) return none;
    const auto n = static_cast<std::int64_t>((*list)->items.size());
    if (at < 0) at += n;
    return at >= 0 && at < n ? (*list)->items[static_cast<std::size_t>(at)] : none;
  }
  if (const auto* text = std::get_if<Text>(&object)) {
    ML_CHECK(refuse_safe(object));
    ML_CHECK(charge((*text)->size() * sizeof(std::string_view)));
    ML_CHECK(spend((*text)->size() / 16));
    const std::vector<std::string_view> all = chars(**text);
    if (at < 0) at += static_cast<std::int64_t>(all.size());
    if (at < 0 || at >= static_cast<std::int64_t>(all.size())) return none;
    return new_text(std::string(all[static_cast<std::size_t>(at)]));
  }
  return none;
}

Result<Value> Interpreter::slice(const Value& object, const Value& start, const Value& stop,
                                 const Value& step) {
  if (const auto* undefined = std::get_if<Undefined>(&object)) {
    return wrong(fmt::format("{} is undefined", *undefined->name));
  }
  const auto* list = std::get_if<ListRef>(&object);
  const bool sequence =
      list != nullptr ? (*list)->kind <= ListKind::range : std::holds_alternative<Text>(object);
  std::optional<std::int64_t> first, last, stride;
  if (!sequence) return wrong(fmt::format("a slice of a {}", type_name(object)));
  if (!take_bound(start, first) || !take_bound(stop, last) || !take_bound(step, stride)) {
    return wrong("a slice's bounds must be integers or none");
  }
  if (stride.value_or(1) == 0) return wrong("a slice's step is zero");
  if (list != nullptr) {
    const auto [at, by, count] =
        places(static_cast<std::int64_t>((*list)->items.size()), first, last, stride.value_or(1));
    std::vector<Value> items;
    for (std::int64_t i = 0; i < count; ++i)
      items.push_back((*list)->items[static_cast<std::size_t>(at + i * by)]);
    return new_list(std::move(items), (*list)->kind);
  }
  const std::string& text = *std::get<Text>(object);
  ML_CHECK(refuse_safe(object));
  ML_CHECK(charge(text.size() * sizeof(std::string_view)));
  ML_CHECK(spend(text.size() / 16));
  const std::vector<std::string_view> all = chars(text);
  const auto [at, by, count] = places(static_cast<std::int64_t>(all.size()), first, last, stride.value_or(1));
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) out += all[static_cast<std::size_t>(at + i * by)];
  return new_text(std::move(out));
}

Result<const Value*> Interpreter::find_in(const Dict& dict, std::string_view key) {
  ML_CHECK(spend(key.size() / 16));
  return dict.find(key);
}

Result<ListRef> Interpreter::iterate(const Value& value) {
  if (const auto* list = std::get_if<ListRef>(&value)) return *list;
  std::vector<Value> items;
  if (const auto* dict = std::get_if<DictRef>(&value)) {
    for (const auto& pair : (*dict)->items) items.push_back(pair.first);
  } else if (const auto* text = std::get_if<Text>(&value)) {
    ML_CHECK(charge((*text)->size() * 128));
    for (const std::string_view one : chars(**text)) items.push_back(text_value(std::string(one)));
  } else if (!std::holds_alternative<Undefined>(value)) {
    return wrong(fmt::format("a {} cannot be iterated over", type_name(value)));
  }
  ML_TRY(const Value list, new_list(std::move(items)));
  return std::get<ListRef>(list);
}

}  // namespace ml::chat
