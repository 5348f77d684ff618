#include "chat/interpreter.hpp"
#include "chat/text.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml::chat {

namespace {

Error no_operator(std::string_view sign, const Value& left, const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (const auto* undefined = std::get_if<Undefined>(value))
      return wrong(fmt::format("{} is undefined", *undefined->name));
  }
  return wrong(fmt::format("no {} {} {}", type_name(left), sign, type_name(right)));
}

Result<Value> whole(char sign, bool floor, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool over = false;
  switch (sign) {
    case '+': over = __builtin_add_overflow(a, b, &out); break;
    case '-': over = __builtin_sub_overflow(a, b, &out); break;
    case '*': over = __builtin_mul_overflow(a, b, &out); break;
    default: {
      if (b == 0) return wrong("division by zero");
      if (sign == '/' && !floor) {
        // Beyond 2^53 the quotient of the rounded numbers is not the rounded quotient.
        constexpr std::int64_t kExact = std::int64_t{1} << 53;
        over = a > kExact || a < -kExact || b > kExact || b < -kExact;
        if (!over) return Value(static_cast<double>(a) / static_cast<double>(b));
        break;
      }
      if (b == -1) {
        over = __builtin_sub_overflow(std::int64_t{0}, a, &out);
        if (sign == '%') return Value(std::int64_t{0});
        break;
      }
      const std::int64_t rest = a % b;
      const bool down = rest != 0 && (rest < 0) != (b < 0);  // Python rounds to minus infinity
      out = sign == '%' ? rest + (down ? b : 0) : a / b - (down ? 1 : 0);
    }
  }
  if (over) return Error{.status = Status::limit, .message = "a number beyond 64 bits"};
  return Value(out);
}

Result<Value> real(char sign, bool floor, double a, double b) {
  switch (sign) {
    case '+': return Value(a + b);
    case '-': return Value(a - b);
    case '*': return Value(a * b);
    default: break;
  }
  if (b == 0) return wrong("division by zero");
  if (sign == '/' && !floor) return Value(a / b);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (sign == '%') return Value(rest != 0 ? rest : std::copysign(0.0, b));
  if (quotient == 0) return Value(std::copysign(0.0, a / b));
  const double below = std::floor(quotient);
  return Value(quotient - below > 0.5 ? below + 1 : below);
}

}  // namespace

Result<Value> Interpreter::arithmetic(char sign, bool floor, const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) {
    if (std::holds_alternative<double>(left) || std::holds_alternative<double>(right)) {
      return real(sign, floor, as_double(left), as_double(right));
    }
    return whole(sign, floor, as_integer(left), as_integer(right));
  }
  if (sign == '+') return add(left, right);
  const auto is_count = [](const Value& value) {
    return is_number(value) && !std::holds_alternative<double>(value);
  };
  if (sign == '*' && is_count(right)) return repeat(left, as_integer(right));
  if (sign == '*' && is_count(left)) return repeat(right, as_integer(left));
  if (sign == '%' && std::holds_alternative<Text>(left)) return not_known("formatting with %");
  return no_operator(floor ? "//" : std::string_view(&sign, 1), left, right);
}

Result<Value> Interpreter::add(const Value& left, const Value& right) {
  const auto* text = std::get_if<Text>(&left);
  const auto* more = std::get_if<Text>(&right);
  if (text != nullptr && more != nullptr) {
    ML_CHECK(refuse_safe(left));
    ML_CHECK(refuse_safe(right));
    ML_CHECK(spend(((*text)->size() + (*more)->size()) / 64));
    return new_text(**text + **more);
  }
  const auto* list = std::get_if<ListRef>(&left);
  const auto* tail = std::get_if<ListRef>(&right);
  if (list != nullptr && tail != nullptr && (*list)->kind == (*tail)->kind &&
      ((*list)->kind == ListKind::list || (*list)->kind == ListKind::tuple)) {
    std::vector<Value> items = (*list)->items;
    items.insert(items.end(), (*tail)->items.begin(), (*tail)->items.end());
    return new_list(std::move(items), (*list)->kind);
  }
  return no_operator("+", left, right);
}

Result<Value> Interpreter::repeat(const Value& sequence, std::int64_t n) {
  const auto n_times = static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0));
  const auto* text = std::get_if<Text>(&sequence);
  const auto* list = std::get_if<ListRef>(&sequence);
  if (text == nullptr && (list == nullptr || (*list)->kind > ListKind::tuple)) {
    return no_operator("*", sequence, Value(n));
  }
  ML_CHECK(refuse_safe(sequence));
  const std::uint64_t size = text != nullptr ? (*text)->size() : (*list)->items.size() * sizeof(Value);
  if (size > 0 && n_times > bytes_left() / size) return charge(bytes_left() + 1).error();
  ML_CHECK(spend(size * n_times / 64));
  if (text != nullptr) {
    std::string out;
    if (size > 0) {
      for (std::uint64_t i = 0; i < n_times; ++i) out += **text;
    }
    return new_text(std::move(out));
  }
  std::vector<Value> items;
  if (size > 0) {
    for (std::uint64_t i = 0; i < n_times; ++i) {
      items.insert(items.end(), (*list)->items.begin(), (*list)->items.end());
    }
  }
  return new_list(std::move(items), (*list)->kind);
}

Result<bool> Interpreter::same(const Value& a, const Value& b) {
  // Texts are compared as far as the shorter goes; of dicts, the keys of one are looked up in the other.
  const bool hashes = height_of(a) > 0 && height_of(b) > 0;
  ML_CHECK(spend(1 + (hashes ? weight_of(a) + weight_of(b) : std::min(weight_of(a), weight_of(b)))));
  return equal(a, b);
}

Result<bool> Interpreter::contains(const Value& container, const Value& item) {
  if (const auto* text = std::get_if<Text>(&container)) {
    const auto* part = std::get_if<Text>(&item);
    if (part == nullptr) return no_operator("in", item, container);
    ML_CHECK(spend((*text)->size() / 32));
    return find_part(**text, **part) != std::string_view::npos;
  }
  if (const auto* dict = std::get_if<DictRef>(&container)) {
    const auto* key = std::get_if<Text>(&item);
    if (height_of(item) > 0) return no_operator("in", item, container);
    if (key == nullptr) return false;
    ML_TRY(const Value* found, find_in(**dict, **key));
    return found != nullptr;
  }
  if (!std::holds_alternative<ListRef>(container) && !std::holds_alternative<Undefined>(container)) {
    return no_operator("in", item, container);
  }
  ML_TRY(const ListRef list, iterate(container));
  for (const Value& one : list->items) {
    ML_TRY(const bool found, same(one, item));
    if (found) return true;
  }
  return false;
}

Result<bool> Interpreter::compare(std::string_view sign, const Value& left, const Value& right) {
  if (sign == "==") return same(left, right);
  if (sign == "!=") {
    ML_TRY(const bool equal_ones, same(left, right));
    return !equal_ones;
  }
  if (sign == "in") return contains(right, left);
  if (sign == "not in") {
    ML_TRY(const bool there, contains(right, left));
    return !there;
  }
  const auto holds = [&](const auto& a, const auto& b) {
    if (sign == "<") return a < b;
    if (sign == "<=") return a <= b;
    if (sign == ">") return a > b;
    return a >= b;
  };
  if (is_number(left) && is_number(right)) {
    const bool reals = std::holds_alternative<double>(left) || std::holds_alternative<double>(right);
    return reals ? holds(as_double(left), as_double(right)) : holds(as_integer(left), as_integer(right));
  }
  const auto* text = std::get_if<Text>(&left);
  const auto* other = std::get_if<Text>(&right);
  if (text != nullptr && other != nullptr) {
    ML_CHECK(spend(std::min((*text)->size(), (*other)->size()) / 16));
    return holds(**text, **other);
  }
  if (left.index() == right.index() && std::holds_alternative<ListRef>(left))
    return not_known("the order of lists");
  return no_operator(sign, left, right);
}

}  // namespace ml::chat
