#include "chat/interpreter.hpp"
#include "chat/names.hpp"
#include "chat/text.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml::chat {

namespace {

Result<std::string_view> need_text(std::string_view callee, const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return std::string_view(**text);
  return wrong(fmt::format("{} takes text, not a {}", callee, type_name(value)));
}

Result<std::int64_t> need_integer(std::string_view callee, const std::optional<Value>& value,
                                  std::int64_t otherwise) {
  if (!value) return otherwise;
  if (is_number(*value) && !std::holds_alternative<double>(*value)) return as_integer(*value);
  return wrong(fmt::format("{} takes an integer, not a {}", callee, type_name(*value)));
}

}  // namespace

Result<Bound> bind(std::string_view callee, const Arguments& arguments,
                   std::initializer_list<std::string_view> parameters, std::size_t n_needed) {
  Bound bound(parameters.size());
  if (arguments.values.size() > parameters.size()) {
    return wrong(
        fmt::format("{} takes {} arguments, not {}", callee, parameters.size(), arguments.values.size()));
  }
  for (std::size_t i = 0; i < arguments.values.size(); ++i) bound[i] = arguments.values[i];
  for (const auto& [name, value] : arguments.named) {
    std::size_t place = 0;
    while (place < parameters.size() && parameters.begin()[place] != name) ++place;
    if (place == parameters.size() || bound[place]) {
      return wrong(fmt::format("{} has no argument '{}' left", callee, name));
    }
    bound[place] = value;
  }
  for (std::size_t i = 0; i < n_needed; ++i) {
    if (!bound[i]) return wrong(fmt::format("{} lacks its argument '{}'", callee, parameters.begin()[i]));
  }
  return bound;
}

Result<Value> Interpreter::call_method(const Value& object, const std::string& name,
                                       const Arguments& arguments) {
  if (python_attribute(object, name) == PythonAttribute::method) {
    if (const auto* text = std::get_if<Text>(&object)) {
      // Every one of them is a pass or two over its text.
      ML_CHECK(spend(1 + (*text)->size() / 16));
      ML_CHECK(refuse_safe(object));
      for (const Value& argument : arguments.values) ML_CHECK(refuse_safe(argument));
      for (const Value& argument : arguments.values) ML_CHECK(spend_text(argument));
      for (const auto& [_, argument] : arguments.named) ML_CHECK(spend_text(argument));
      return text_method(**text, name, arguments);
    }
    if (const auto* dict = std::get_if<DictRef>(&object)) return dict_method(*dict, name, arguments);
    return not_known(fmt::format("the method '{}' of a {}", name, type_name(object)));
  }
  ML_TRY(const Value callee, attribute(object, name));
  return call(callee, arguments);
}

Result<Value> Interpreter::text_method(const std::string& text, std::string_view name,
                                       const Arguments& arguments) {
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    ML_TRY(const Bound bound, bind(name, arguments, {"chars"}));
    std::optional<std::string_view> set;
    if (bound[0] && !std::holds_alternative<None>(*bound[0])) {
      ML_TRY(set, strip_set(name, *bound[0]));
    }
    const Side side = name == "strip" ? Side::both : name == "lstrip" ? Side::left : Side::right;
    return new_text(std::string(strip(text, side, set)));
  }
  if (name == "startswith" || name == "endswith") {
    if (arguments.values.size() > 1) return not_known(fmt::format("'{}' with bounds", name));
    ML_TRY(const Bound bound, bind(name, arguments, {"prefix"}, 1));
    ML_TRY(const bool has, has_end(name, text, *bound[0]));
    return Value(has);
  }
  if (name == "split" || name == "rsplit") return split_method(text, name == "rsplit", arguments);
  for (const auto& [method, how] : {std::pair<std::string_view, Case>{"upper", Case::upper},
                                    {"lower", Case::lower},
                                    {"title", Case::title},
                                    {"capitalize", Case::capitalize}}) {
    if (name != method) continue;
    ML_CHECK(bind(name, arguments, {}));
    ML_TRY(std::string changed, change_case(text, how));
    return new_text(std::move(changed));
  }
  if (name == "replace") {
    ML_TRY(const Bound bound, bind(name, arguments, {"old", "new", "count"}, 2));
    ML_TRY(const std::string_view from, need_text(name, *bound[0]));
    ML_TRY(const std::string_view to, need_text(name, *bound[1]));
    ML_TRY(const std::int64_t max, need_integer(name, bound[2], -1));
    ML_TRY(std::string out, replace(text, from, to, max, bytes_left()));
    ML_CHECK(spend(out.size() / 16));
    return new_text(std::move(out));
  }
  if (name == "join") {
    ML_TRY(const Bound bound, bind(name, arguments, {"parts"}, 1));
    ML_TRY(const ListRef list, iterate(*bound[0]));
    return join(text, *list, true);
  }
  return not_known(fmt::format("the method '{}' of text", name));
}

// The set is taken apart: that costs more than a pass.
Result<std::string_view> Interpreter::strip_set(std::string_view name, const Value& set) {
  ML_TRY(const std::string_view text, need_text(name, set));
  ML_CHECK(spend(text.size()));
  ML_CHECK(charge(text.size() * sizeof(std::string_view)));
  return text;
}

// text.startswith and text.endswith, which also take a tuple of which one must fit.
Result<bool> Interpreter::has_end(std::string_view name, std::string_view text, const Value& end) {
  const auto fits = [&](const Value& one) -> Result<bool> {
    ML_TRY(const std::string_view part, need_text(name, one));
    ML_CHECK(spend(1 + part.size() / 16));
    return name == "startswith" ? text.starts_with(part) : text.ends_with(part);
  };
  const auto* list = std::get_if<ListRef>(&end);
  if (list == nullptr || (*list)->kind != ListKind::tuple) return fits(end);
  for (const Value& one : (*list)->items) {
    ML_TRY(const bool fit, fits(one));
    if (fit) return true;
  }
  return false;
}

Result<Value> Interpreter::split_method(const std::string& text, bool right, const Arguments& arguments) {
  ML_TRY(const Bound bound, bind("split", arguments, {"sep", "maxsplit"}));
  ML_TRY(const std::int64_t max, need_integer("split", bound[1], -1));
  std::vector<std::string> parts;
  ML_CHECK(charge(text.size()));
  // A part costs more than its text. One more than there is room for is enough to be refused.
  constexpr std::uint64_t kPartBytes = 96;
  const auto n_room = static_cast<std::int64_t>(bytes_left() / kPartBytes + 1);
  const std::int64_t n_max = max < 0 ? n_room : std::min(max, n_room);
  if (!bound[0] || std::holds_alternative<None>(*bound[0])) {
    if (right && max >= 0) return not_known("'rsplit' at white space with a limit");
    parts = split_blanks(text, n_max);
  } else {
    ML_TRY(const std::string_view separator, need_text("split", *bound[0]));
    if (separator.empty()) return wrong("split takes no empty separator");
    parts = right ? split_right(text, separator, n_max) : split(text, separator, n_max);
  }
  ML_CHECK(charge(parts.size() * kPartBytes));
  std::vector<Value> items;
  for (std::string& part : parts) items.push_back(text_value(std::move(part)));
  return new_list(std::move(items));
}

Result<Value> Interpreter::join(std::string_view separator, const List& list, bool only_text) {
  std::string out;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (only_text) ML_CHECK(need_text("join", list.items[i]));
    ML_CHECK(refuse_safe(list.items[i]));
    ML_TRY(const std::string part, text_of(list.items[i]));
    if (i > 0) {
      ML_CHECK(charge(separator.size()));
      ML_CHECK(spend(1 + separator.size() / 64));
      out += separator;
    }
    out += part;
  }
  return new_text(std::move(out));
}

Result<Value> Interpreter::dict_method(const DictRef& dict, std::string_view name,
                                       const Arguments& arguments) {
  if (name == "get") {
    ML_TRY(const Bound bound, bind(name, arguments, {"key", "default"}, 1));
    const auto* key = std::get_if<Text>(&*bound[0]);
    if (key != nullptr) {
      ML_TRY(const Value* found, find_in(*dict, **key));
      if (found != nullptr) return *found;
    }
    return bound[1] ? *bound[1] : Value(None{});
  }
  if (name != "items" && name != "keys" && name != "values") {
    return not_known(fmt::format("the method '{}' of a dict", name));
  }
  ML_CHECK(bind(name, arguments, {}));
  std::vector<Value> items;
  for (const auto& [key, value] : dict->items) {
    if (name == "items") {
      ML_TRY(Value pair, new_list({Value(key), value}, ListKind::tuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(name == "keys" ? Value(key) : value);
    }
  }
  return new_list(std::move(items), ListKind::view);
}

}  // namespace ml::chat
