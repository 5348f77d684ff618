#include "chat/interpreter.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace ml::chat {

Result<Value> Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (const auto* macro = std::get_if<MacroRef>(&callee)) return call_macro(*macro->macro, arguments);
  if (const auto* undefined = std::get_if<Undefined>(&callee)) {
    if (*undefined->name == "'strftime_now'") {
      return Error{.status = Status::unsupported,
                   .message = "the template asks for the date, and none is given"};
    }
    return not_known(fmt::format("the function {}", *undefined->name));
  }
  const auto* function = std::get_if<Function>(&callee);
  if (function == nullptr) return not_known(fmt::format("a call of a {}", type_name(callee)));
  if (function->name == "range") return call_range(arguments);
  if (function->name == "namespace") return call_namespace(arguments);
  if (function->name == "dict") return call_dict(arguments);
  ML_TRY(const Bound bound,
         bind(function->name, arguments, {function->name == "raise_exception" ? "message" : "format"}, 1));
  if (function->name == "raise_exception") {
    ML_TRY(std::string text, text_of(*bound[0]));
    located_ = true;  // the message is the template's own
    return wrong(std::move(text));
  }
  const auto* format = std::get_if<Text>(&*bound[0]);
  if (format == nullptr) return wrong("strftime_now takes a format as text");
  ML_CHECK(charge((*format)->size() * 8));
  ML_CHECK(spend((*format)->size() / 8));
  ML_TRY(std::string text, format_date(**format, *date_));
  return new_text(std::move(text));
}

Result<Value> Interpreter::call_macro(const Statement& macro, const Arguments& arguments) {
  if (arguments.values.size() > macro.parameters.size()) {
    return wrong(fmt::format("the macro '{}' takes {} arguments, not {}", macro.text, macro.parameters.size(),
                             arguments.values.size()));
  }
  ML_CHECK(spend(macro.parameters.size() * (2 + arguments.named.size() / 16)));
  const std::size_t outer = std::exchange(base_, scopes_.size());
  Scope scope;
  for (std::size_t i = 0; i < arguments.values.size(); ++i) {
    scope.insert_or_assign(macro.parameters[i].name, arguments.values[i]);
  }
  for (const auto& [name, value] : arguments.named) {
    bool known = false;
    for (const Parameter& parameter : macro.parameters) known = known || parameter.name == name;
    if (!known || !scope.emplace(name, value).second) {
      return wrong(fmt::format("the macro '{}' has no argument '{}' left", macro.text, name));
    }
  }
  // A default sees the parameters after its own as undefined, not what is outside by their names.
  std::vector<const Parameter*> left;
  for (const Parameter& parameter : macro.parameters) {
    if (scope.emplace(parameter.name, missing(parameter.name)).second) left.push_back(&parameter);
  }
  scopes_.push_back(std::move(scope));
  ML_CHECK(hide(macro.hidden));
  for (const Parameter* parameter : left) {
    if (parameter->otherwise == nullptr) continue;
    ML_TRY(Value value, evaluate(*parameter->otherwise));
    scopes_.back().insert_or_assign(parameter->name, std::move(value));
  }
  ML_TRY(std::string text, capture(macro.body));
  scopes_.pop_back();
  base_ = outer;
  return new_text(std::move(text));
}

Result<Value> Interpreter::call_range(const Arguments& arguments) {
  if (!arguments.named.empty() || arguments.values.empty() || arguments.values.size() > 3) {
    return wrong("range takes one to three integers");
  }
  std::vector<std::int64_t> bounds;
  for (const Value& value : arguments.values) {
    if (!is_number(value) || std::holds_alternative<double>(value)) {
      return wrong(fmt::format("range takes integers, not a {}", type_name(value)));
    }
    bounds.push_back(as_integer(value));
  }
  const std::int64_t first = bounds.size() > 1 ? bounds[0] : 0;
  const std::int64_t last = bounds.size() > 1 ? bounds[1] : bounds[0];
  const std::int64_t step = bounds.size() > 2 ? bounds[2] : 1;
  if (step == 0) return wrong("range with a step of zero");
  std::vector<Value> items;
  std::int64_t at = first;
  while (step > 0 ? at < last : at > last) {
    if (items.size() >= kMaxRange) {
      return Error{.status = Status::limit, .message = fmt::format("a range of over {} numbers", kMaxRange)};
    }
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return new_list(std::move(items), ListKind::range);
}

Result<Value> Interpreter::call_dict(const Arguments& arguments) {
  std::vector<std::pair<Text, Value>> pairs;
  if (!arguments.values.empty()) {
    const auto* dict = std::get_if<DictRef>(&arguments.values[0]);
    if (dict == nullptr || arguments.values.size() > 1) return not_known("a dict made of other than a dict");
    ML_CHECK(spend(weight_of(arguments.values[0])));
    pairs = (*dict)->items;
  }
  for (const auto& [name, value] : arguments.named)
    pairs.emplace_back(std::make_shared<const std::string>(name), value);
  ML_CHECK(charge(128 + 128 * pairs.size()));
  return make_dict(std::move(pairs));
}

Result<Value> Interpreter::call_namespace(const Arguments& arguments) {
  Scope scope;
  for (const Value& value : arguments.values) {
    const auto* dict = std::get_if<DictRef>(&value);
    if (dict == nullptr) return not_known(fmt::format("a namespace made of a {}", type_name(value)));
    for (const auto& [key, item] : (*dict)->items) {
      ML_CHECK(charge(key->size()));
      ML_CHECK(spend(1 + key->size() / 16 * std::bit_width(scope.size())));
      scope.insert_or_assign(*key, item);
    }
  }
  for (const auto& [name, value] : arguments.named) scope.insert_or_assign(name, value);
  ML_CHECK(charge(128 + 128 * scope.size()));
  namespaces_.push_back(std::move(scope));
  return Value(NamespaceRef{namespaces_.size() - 1});
}

}  // namespace ml::chat
