#include "chat/interpreter.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ml::chat {

Result<Value> Interpreter::filter_list(std::string_view name, const Value& input,
                                       const Arguments& arguments) {
  if (name == "join") return filter_join(input, arguments);
  if (name == "map") return filter_map(input, arguments);
  if (name.starts_with("select") || name.starts_with("reject")) return filter_select(name, input, arguments);
  ML_CHECK(bind(name, arguments, {}));
  if (name == "first" || name == "last") return filter_ends(input, name == "last");
  if (name == "list") {
    ML_TRY(const ListRef list, iterate(input));
    return new_list(list->items);
  }
  if (std::holds_alternative<Undefined>(input)) return new_list({}, ListKind::generator);
  const auto* dict = std::get_if<DictRef>(&input);
  if (dict == nullptr)
    return wrong(fmt::format("the filter 'items' takes a dict, not a {}", type_name(input)));
  ML_TRY(const Value pairs, dict_method(*dict, "items", {}));
  return new_list(std::get<ListRef>(pairs)->items, ListKind::generator);
}

Result<Value> Interpreter::filter_ends(const Value& input, bool last) {
  const auto* list = std::get_if<ListRef>(&input);
  const bool generator = list != nullptr && (*list)->kind == ListKind::generator;
  if (last && (generator || std::holds_alternative<Undefined>(input))) {
    return wrong(fmt::format("the filter 'last' of a {}", type_name(input)));
  }
  ML_TRY(const ListRef items, iterate(input));
  if (items->items.empty()) return missing("an item of an empty list");
  return last ? items->items.back() : items->items.front();
}

Result<Value> Interpreter::filter_join(const Value& input, const Arguments& arguments) {
  ML_TRY(const Bound bound, bind("join", arguments, {"d", "attribute"}));
  std::string separator;
  if (bound[0]) {
    ML_TRY(separator, text_of(*bound[0]));
  }
  ML_TRY(ListRef list, iterate(input));
  if (bound[1] && !std::holds_alternative<None>(*bound[1])) {
    std::vector<Value> items;
    for (const Value& one : list->items) {
      ML_TRY(Value value, attribute_path(one, *bound[1], {}));
      items.push_back(std::move(value));
    }
    ML_TRY(const Value attributes, new_list(std::move(items)));
    list = std::get<ListRef>(attributes);
  }
  return join(separator, *list, false);
}

// "a.b.0": items of items.
Result<Value> Interpreter::attribute_path(const Value& object, const Value& path,
                                          const std::optional<Value>& otherwise) {
  Value value = object;
  const auto* text = std::get_if<Text>(&path);
  if (text == nullptr) return not_known(fmt::format("an attribute of type {}", type_name(path)));
  std::string_view rest = **text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    ML_CHECK(spend(1 + part.size() / 16));
    std::int64_t index = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = failure == std::errc() && end == part.data() + part.size() && !part.starts_with('-');
    ML_TRY(value, item(value, number ? Value(index) : text_value(std::string(part))));
    if (otherwise && !std::holds_alternative<None>(*otherwise) && std::holds_alternative<Undefined>(value)) {
      value = *otherwise;
    }
    if (part.size() == rest.size()) return value;
    rest.remove_prefix(part.size() + 1);
  }
}

Result<Value> Interpreter::filter_map(const Value& input, const Arguments& arguments) {
  std::optional<Bound> attribute;
  Arguments rest;
  if (arguments.values.empty()) {
    ML_TRY(attribute, bind("map", arguments, {"attribute", "default"}, 1));
  } else {
    rest = {{arguments.values.begin() + 1, arguments.values.end()}, arguments.named};
  }
  const auto* filter = attribute ? nullptr : std::get_if<Text>(&arguments.values[0]);
  if (!attribute && filter == nullptr) return wrong("map takes the name of a filter");
  if (filter != nullptr &&
      (**filter == "map" || filter->get()->starts_with("select") || filter->get()->starts_with("reject"))) {
    return not_known(fmt::format("the filter '{}' inside 'map'", show_name(**filter)));
  }
  ML_TRY(const ListRef list, iterate(input));
  std::vector<Value> items;
  for (const Value& one : list->items) {
    ML_TRY(Value value, attribute ? attribute_path(one, *(*attribute)[0], (*attribute)[1])
                                  : apply_filter(**filter, one, rest));
    items.push_back(std::move(value));
  }
  return new_list(std::move(items), ListKind::generator);
}

// select(test, ...), selectattr(attribute, test, ...), and the opposites.
Result<Value> Interpreter::filter_select(std::string_view name, const Value& input,
                                         const Arguments& arguments) {
  const bool keep = name.starts_with("select");
  const bool of_attribute = name.ends_with("attr");
  const std::size_t first = of_attribute ? 1 : 0;
  if (arguments.values.size() < first) return wrong(fmt::format("{} lacks its attribute", name));
  const auto* test = arguments.values.size() > first ? std::get_if<Text>(&arguments.values[first]) : nullptr;
  Arguments rest;
  if (test != nullptr) {
    rest = {{arguments.values.begin() + static_cast<std::ptrdiff_t>(first) + 1, arguments.values.end()},
            arguments.named};
  } else if (arguments.values.size() > first || !arguments.named.empty()) {
    return wrong(fmt::format("{} takes the name of a test", name));
  }
  ML_TRY(const ListRef list, iterate(input));
  std::vector<Value> items;
  for (const Value& one : list->items) {
    ML_CHECK(spend(1));
    Value value = one;
    if (of_attribute) {
      ML_TRY(value, attribute_path(one, arguments.values[0], {}));
    }
    bool holds = truth(value);
    if (test != nullptr) {
      ML_TRY(holds, apply_test(**test, value, rest));
    }
    if (holds == keep) items.push_back(one);
  }
  return new_list(std::move(items), ListKind::generator);
}

}  // namespace ml::chat
