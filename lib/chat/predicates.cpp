// The tests that `is` names.

#include "chat/interpreter.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <map>

namespace ml::chat {

namespace {

using Predicate = bool (*)(const Value&);

bool is_integer(const Value& value) { return std::holds_alternative<std::int64_t>(value); }

bool is_sized(const Value& value) {
  const auto* list = std::get_if<ListRef>(&value);
  return std::holds_alternative<Text>(value) || std::holds_alternative<DictRef>(value) ||
         std::holds_alternative<Undefined>(value) || (list != nullptr && (*list)->kind <= ListKind::range);
}

const std::map<std::string_view, Predicate>& predicates() {
  static const std::map<std::string_view, Predicate> all = {
      {"defined", [](const Value& value) { return !std::holds_alternative<Undefined>(value); }},
      {"undefined", [](const Value& value) { return std::holds_alternative<Undefined>(value); }},
      {"none", [](const Value& value) { return std::holds_alternative<None>(value); }},
      {"string", [](const Value& value) { return std::holds_alternative<Text>(value); }},
      {"mapping", [](const Value& value) { return std::holds_alternative<DictRef>(value); }},
      {"sequence", is_sized},
      {"iterable",
       [](const Value& value) {
         return is_sized(value) || std::holds_alternative<ListRef>(value) ||
                std::holds_alternative<LoopRef>(value);
       }},
      {"number", is_number},
      {"integer", is_integer},
      {"float", [](const Value& value) { return std::holds_alternative<double>(value); }},
      {"boolean", [](const Value& value) { return std::holds_alternative<bool>(value); }},
      {"true",
       [](const Value& value) { return std::holds_alternative<bool>(value) && std::get<bool>(value); }},
      {"false",
       [](const Value& value) { return std::holds_alternative<bool>(value) && !std::get<bool>(value); }},
  };
  return all;
}

// Tests that are operators by another name.
const std::map<std::string_view, std::string_view>& comparisons() {
  static const std::map<std::string_view, std::string_view> all = {
      {"equalto", "=="}, {"eq", "=="}, {"ne", "!="},         {"lt", "<"},  {"lessthan", "<"}, {"le", "<="},
      {"gt", ">"},       {"ge", ">="}, {"greaterthan", ">"}, {"in", "in"}, {"==", "=="},      {"!=", "!="},
      {"<", "<"},        {"<=", "<="}, {">", ">"},           {">=", ">="},
  };
  return all;
}

}  // namespace

Result<bool> Interpreter::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  ML_CHECK(spend(1));
  if (const auto found = predicates().find(name); found != predicates().end()) {
    ML_CHECK(bind(name, arguments, {}));
    return found->second(input);
  }
  if (const auto found = comparisons().find(name); found != comparisons().end()) {
    ML_TRY(const Bound bound, bind(name, arguments, {"other"}, 1));
    return compare(found->second, input, *bound[0]);
  }
  const bool odd = name == "odd";
  if (odd || name == "even" || name == "divisibleby") {
    ML_TRY(const Bound bound,
           name == "divisibleby" ? bind(name, arguments, {"num"}, 1) : bind(name, arguments, {}));
    ML_TRY(const Value rest,
           arithmetic('%', false, input, bound.empty() ? Value(std::int64_t{2}) : *bound[0]));
    if (std::holds_alternative<Text>(rest)) return wrong(fmt::format("the test '{}' of text", name));
    return same(rest, Value(std::int64_t{odd ? 1 : 0}));
  }
  return not_known(fmt::format("the test '{}'", show_name(name)));
}

}  // namespace ml::chat
