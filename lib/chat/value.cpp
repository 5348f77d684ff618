#include "chat/value.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ml::chat {

namespace {

bool is_integer(const Value& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value);
}

template <class Container>
Result<void> count_in(Container& container, const Value& item) {
  container.height = std::max(container.height, height_of(item) + 1);
  container.weight += weight_of(item);
  if (container.height > kMaxHeight) {
    return Error{.status = Status::limit,
                 .message = fmt::format("values are nested over {} levels deep", kMaxHeight)};
  }
  if (container.weight > kMaxWeight) {
    return Error{.status = Status::limit, .message = fmt::format("a value of over {} parts", kMaxWeight)};
  }
  return {};
}

Result<bool> equal_lists(const List& a, const List& b) {
  const auto plain = [](ListKind kind) { return kind == ListKind::list || kind == ListKind::tuple; };
  if (!plain(a.kind) || !plain(b.kind)) {
    if (a.kind != b.kind && (plain(a.kind) || plain(b.kind))) return false;
    return Error{.status = Status::unsupported, .message = "comparing two views or generators"};
  }
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    auto same = equal(a.items[i], b.items[i]);
    if (!same || !*same) return same;
  }
  return true;
}

Result<bool> equal_dicts(const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(*key);
    if (other == nullptr) return false;
    auto same = equal(value, *other);
    if (!same || !*same) return same;
  }
  return true;
}

// An integer and a double are equal only where they are the same number, as in Python.
bool equal_numbers(const Value& a, const Value& b) {
  if (is_integer(a) && is_integer(b)) return as_integer(a) == as_integer(b);
  const auto same = [](std::int64_t whole, double real) {
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 && std::trunc(real) == real &&
           static_cast<std::int64_t>(real) == whole;
  };
  if (is_integer(a)) return same(as_integer(a), as_double(b));
  if (is_integer(b)) return same(as_integer(b), as_double(a));
  return as_double(a) == as_double(b);
}

}  // namespace

const Value* Dict::find(std::string_view key) const {
  const auto place = places.find(key);
  return place == places.end() ? nullptr : &items[place->second].second;
}

unsigned height_of(const Value& value) {
  if (const auto* list = std::get_if<ListRef>(&value)) return (*list)->height;
  if (const auto* dict = std::get_if<DictRef>(&value)) return (*dict)->height;
  if (const auto* loop = std::get_if<LoopRef>(&value)) return (*loop)->items->height + 1;
  return 0;
}

std::uint64_t weight_of(const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return 1 + (*text)->size() / 16;
  if (const auto* list = std::get_if<ListRef>(&value)) return (*list)->weight;
  if (const auto* dict = std::get_if<DictRef>(&value)) return (*dict)->weight;
  return 1;
}

Result<Value> make_list(std::vector<Value> items, ListKind kind) {
  auto list = std::make_shared<List>();
  for (const Value& item : items) ML_CHECK(count_in(*list, item));
  list->kind = kind;
  list->items = std::move(items);
  return Value(ListRef(std::move(list)));
}

Result<Value> make_dict(std::vector<std::pair<Text, Value>> items) {
  auto dict = std::make_shared<Dict>();
  for (auto& [key, value] : items) {
    ML_CHECK(count_in(*dict, value));
    ML_CHECK(count_in(*dict, Value(key)));
    const auto [place, added] = dict->places.try_emplace(*key, dict->items.size());
    if (added) {
      dict->items.emplace_back(std::move(key), std::move(value));
    } else {
      dict->items[place->second].second = std::move(value);
    }
  }
  return Value(DictRef(std::move(dict)));
}

std::string_view kind_name(ListKind kind) {
  switch (kind) {
    case ListKind::list: return "list";
    case ListKind::tuple: return "tuple";
    case ListKind::range: return "range";
    case ListKind::view: return "view of a dict";
    case ListKind::generator: return "generator";
  }
  return "list";
}

std::string_view type_name(const Value& value) {
  if (const auto* list = std::get_if<ListRef>(&value)) return kind_name((*list)->kind);
  static constexpr std::string_view kNames[] = {"undefined", "None",     "bool",  "int",  "float",
                                                "str",       "list",     "dict",  "loop", "namespace",
                                                "macro",     "function", "method"};
  static_assert(std::size(kNames) == std::variant_size_v<Value>);
  return kNames[value.index()];
}

bool is_number(const Value& value) { return is_integer(value) || std::holds_alternative<double>(value); }

std::int64_t as_integer(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return std::get<std::int64_t>(value);
}

double as_double(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(as_integer(value));
}

bool truth(const Value& value) {
  if (std::holds_alternative<Undefined>(value) || std::holds_alternative<None>(value)) return false;
  if (is_integer(value)) return as_integer(value) != 0;
  if (const auto* real = std::get_if<double>(&value)) return *real != 0;
  if (const auto* text = std::get_if<Text>(&value)) return !(*text)->empty();
  if (const auto* list = std::get_if<ListRef>(&value)) {
    return (*list)->kind == ListKind::generator || !(*list)->items.empty();
  }
  if (const auto* dict = std::get_if<DictRef>(&value)) return !(*dict)->items.empty();
  return true;
}

Result<bool> equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
  if (a.index() != b.index()) return false;
  if (const auto* text = std::get_if<Text>(&a)) return **text == *std::get<Text>(b);
  if (const auto* list = std::get_if<ListRef>(&a)) return equal_lists(**list, *std::get<ListRef>(b));
  if (const auto* dict = std::get_if<DictRef>(&a)) return equal_dicts(**dict, *std::get<DictRef>(b));
  if (std::holds_alternative<Undefined>(a) || std::holds_alternative<None>(a)) return true;
  return Error{.status = Status::unsupported,
               .message = fmt::format("comparing two values of type {}", type_name(a))};
}

}  // namespace ml::chat
