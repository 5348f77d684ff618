#include "chat/interpreter.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ml::chat {

Result<Value> Interpreter::evaluate(const Expression& expression) {
  if (++depth_ > kMaxDepth) {
    return Error{.status = Status::limit,
                 .message = fmt::format("the template is nested over {} levels deep", kMaxDepth)};
  }
  ML_CHECK(spend(1));
  auto value = evaluate_kind(expression);
  --depth_;
  if (!value && !std::exchange(located_, true)) {
    value.error().message = fmt::format("line {}: {}", expression.line, value.error().message);
  }
  return value;
}

Result<Value> Interpreter::evaluate_kind(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::literal: return e.value;
    case ExpressionKind::name: return look_up(e.name);
    case ExpressionKind::list:
    case ExpressionKind::tuple:
    case ExpressionKind::dict: return evaluate_container(e);
    case ExpressionKind::attribute:
    case ExpressionKind::item:
    case ExpressionKind::slice: return evaluate_slice(e);
    case ExpressionKind::call: return evaluate_call(e);
    case ExpressionKind::filter: return evaluate_filter(e);
    case ExpressionKind::test: return evaluate_test(e);
    case ExpressionKind::comparison: return evaluate_comparison(e);
    case ExpressionKind::concat: return evaluate_concat(e);
    default: return evaluate_choice(e);
  }
}

Result<Value> Interpreter::look_up(const std::string& name) {
  for (std::size_t i = scopes_.size(); i-- > base_;) {
    if ((scopes_.size() - i) % 4 == 0) ML_CHECK(spend(1));
    if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) {
      if (in_condition_ && std::holds_alternative<NamespaceRef>(found->second)) {
        return not_known("a namespace in the condition of a for");
      }
      return found->second;
    }
  }
  for (const std::string_view own : {"caller", "varargs", "kwargs"}) {
    if (base_ > 0 && name == own) return not_known(fmt::format("'{}'", name));
  }
  if (const auto found = scopes_[0].find(name); found != scopes_[0].end()) return found->second;
  static constexpr std::array<std::string_view, 4> kFunctions = {"range", "namespace", "dict",
                                                                 "raise_exception"};
  for (const std::string_view function : kFunctions) {
    if (name == function) return Value(Function{function});
  }
  if (name == "strftime_now" && date_) return Value(Function{"strftime_now"});
  for (const std::string_view other : {"lipsum", "cycler", "joiner", "caller", "varargs", "kwargs", "self"}) {
    if (name == other) return not_known(fmt::format("'{}'", name));
  }
  return missing(fmt::format("'{}'", name));
}

Result<Value> Interpreter::evaluate_container(const Expression& e) {
  std::vector<Value> items;
  for (const ExpressionPtr& child : e.children) {
    ML_TRY(Value value, evaluate(*child));
    items.push_back(std::move(value));
  }
  if (e.kind == ExpressionKind::list) return new_list(std::move(items));
  if (e.kind == ExpressionKind::tuple) return new_list(std::move(items), ListKind::tuple);
  ML_CHECK(charge(items.size() * 64 + 128));
  std::vector<std::pair<Text, Value>> pairs;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const auto* key = std::get_if<Text>(&items[i]);
    if (key == nullptr) return not_known(fmt::format("a dict with a key of type {}", type_name(items[i])));
    ML_CHECK(spend((*key)->size() / 16));
    pairs.emplace_back(*key, std::move(items[i + 1]));
  }
  return make_dict(std::move(pairs));
}

Result<Value> Interpreter::evaluate_slice(const Expression& e) {
  ML_TRY(const Value object, evaluate(*e.children[0]));
  if (e.kind == ExpressionKind::attribute) return attribute(object, e.name);
  std::array<Value, 3> bounds = {None{}, None{}, None{}};
  for (std::size_t i = 1; i < e.children.size(); ++i) {
    if (e.children[i] == nullptr) continue;
    ML_TRY(bounds[i - 1], evaluate(*e.children[i]));
  }
  if (e.kind == ExpressionKind::item) return item(object, bounds[0]);
  return slice(object, bounds[0], bounds[1], bounds[2]);
}

Result<Arguments> Interpreter::evaluate_arguments(const Expression& call) {
  Arguments arguments;
  for (std::size_t i = 1; i < call.children.size(); ++i) {
    ML_TRY(Value value, evaluate(*call.children[i]));
    arguments.values.push_back(std::move(value));
  }
  for (const auto& [name, expression] : call.keywords) {
    ML_TRY(Value value, evaluate(*expression));
    arguments.named.emplace_back(name, std::move(value));
  }
  return arguments;
}

Result<Value> Interpreter::evaluate_call(const Expression& e) {
  const Expression& callee = *e.children[0];
  if (callee.kind == ExpressionKind::attribute) {
    ML_TRY(const Value object, evaluate(*callee.children[0]));
    ML_TRY(const Arguments arguments, evaluate_arguments(e));
    return call_method(object, callee.name, arguments);
  }
  ML_TRY(const Value function, evaluate(callee));
  ML_TRY(const Arguments arguments, evaluate_arguments(e));
  return call(function, arguments);
}

Result<Value> Interpreter::evaluate_filter(const Expression& e) {
  ML_TRY(const Value input, evaluate(*e.children[0]));
  ML_TRY(const Arguments arguments, evaluate_arguments(e));
  return apply_filter(e.name, input, arguments);
}

Result<Value> Interpreter::evaluate_test(const Expression& e) {
  ML_TRY(const Value input, evaluate(*e.children[0]));
  ML_TRY(const Arguments arguments, evaluate_arguments(e));
  ML_TRY(const bool holds, apply_test(e.name, input, arguments));
  return Value(holds);
}

// a < b < c is (a < b) and (b < c), with b evaluated once.
Result<Value> Interpreter::evaluate_comparison(const Expression& e) {
  ML_TRY(Value left, evaluate(*e.children[0]));
  for (std::size_t i = 0; i < e.signs.size(); ++i) {
    ML_TRY(Value right, evaluate(*e.children[i + 1]));
    ML_TRY(const bool holds, compare(e.signs[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::evaluate_concat(const Expression& e) {
  std::string text;
  for (const ExpressionPtr& child : e.children) {
    ML_TRY(const Value value, evaluate(*child));
    ML_CHECK(refuse_safe(value));
    ML_TRY(const std::string part, text_of(value));
    text += part;
  }
  return new_text(std::move(text));
}

// Operators that evaluate some of their operands, and arithmetic.
Result<Value> Interpreter::evaluate_choice(const Expression& e) {
  if (e.kind == ExpressionKind::conditional) {
    ML_TRY(const Value condition, evaluate(*e.children[1]));
    if (truth(condition)) return evaluate(*e.children[0]);
    if (e.children[2] == nullptr) return missing("the value of an if without else");
    return evaluate(*e.children[2]);
  }
  ML_TRY(Value left, evaluate(*e.children[0]));
  switch (e.kind) {
    case ExpressionKind::negation: return Value(!truth(left));
    case ExpressionKind::conjunction:
      return truth(left) ? evaluate(*e.children[1]) : Result<Value>(std::move(left));
    case ExpressionKind::disjunction:
      return truth(left) ? Result<Value>(std::move(left)) : evaluate(*e.children[1]);
    case ExpressionKind::minus:
      if (const auto* real = std::get_if<double>(&left)) return Value(-*real);
      return arithmetic('-', false, Value(std::int64_t{0}), left);
    case ExpressionKind::plus:
      if (!is_number(left)) return wrong(fmt::format("the sign + before a {}", type_name(left)));
      if (std::holds_alternative<double>(left)) return left;
      return arithmetic('+', false, Value(std::int64_t{0}), left);
    default: break;
  }
  ML_TRY(const Value right, evaluate(*e.children[1]));
  return arithmetic(e.signs[0][0], e.signs[0] == "//", left, right);
}

}  // namespace ml::chat
