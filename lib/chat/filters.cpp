#include "chat/interpreter.hpp"
#include "chat/text.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ml::chat {

namespace {

constexpr std::array<std::string_view, 6> kTextFilters = {"trim",       "upper", "lower",
                                                          "capitalize", "title", "replace"};
constexpr std::array<std::string_view, 11> kListFilters = {
    "first", "last", "list", "join", "items", "map", "select", "selectattr", "rejectattr", "reject", "count"};
// Spaces that JSON may be indented by; more is a mistake or an attack.
constexpr std::int64_t kMaxIndent = 256;

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<Value> Interpreter::apply_filter(std::string_view name, const Value& input,
                                        const Arguments& arguments) {
  ML_CHECK(spend(1));
  if (name == "safe") return filter_safe(input, arguments);
  if (name == "length" || name == "count") {
    ML_CHECK(bind(name, arguments, {}));
    return filter_length(input);
  }
  if (is_one_of(kTextFilters, name)) return filter_text(name, input, arguments);
  if (is_one_of(kListFilters, name)) return filter_list(name, input, arguments);
  if (name == "tojson") return filter_json(input, arguments);
  if (name == "int") return filter_integer(input, arguments);
  if (name == "string") {
    ML_CHECK(bind(name, arguments, {}));
    ML_TRY(std::string text, text_of(input));
    return new_text(std::move(text));
  }
  if (name == "default" || name == "d") {
    ML_TRY(const Bound bound, bind(name, arguments, {"default_value", "boolean"}));
    const bool falsy = bound[1] && truth(*bound[1]) && !truth(input);
    if (!std::holds_alternative<Undefined>(input) && !falsy) return input;
    return bound[0] ? *bound[0] : text_value("");
  }
  return not_known(fmt::format("the filter '{}'", show_name(name)));
}

// Safe text is escaped no more, and what meets it is: `'<' ~ x` and the like would escape the '<'. A copy
// stands for it that is printed, compared and passed on, but never put together with other text.
Result<Value> Interpreter::filter_safe(const Value& input, const Arguments& arguments) {
  ML_CHECK(bind("safe", arguments, {}));
  ML_TRY(std::string text, text_of(input));
  ML_TRY(Value copy, new_text(std::move(text)));
  ML_CHECK(charge(128));
  safe_.insert(std::get<Text>(copy));
  return copy;
}

Result<void> Interpreter::refuse_safe(const Value& value) const {
  const auto* text = std::get_if<Text>(&value);
  if (text == nullptr || !safe_.contains(*text)) return {};
  return not_known("text that is marked safe together with other text or changed");
}

Result<Value> Interpreter::filter_length(const Value& input) {
  std::size_t n = 0;
  if (const auto* text = std::get_if<Text>(&input)) {
    ML_CHECK(spend((*text)->size() / 64));
    n = n_chars(**text);
  } else if (const auto* dict = std::get_if<DictRef>(&input)) {
    n = (*dict)->items.size();
  } else if (const auto* list = std::get_if<ListRef>(&input);
             list != nullptr && (*list)->kind != ListKind::generator) {
    n = (*list)->items.size();
  } else if (const auto* loop = std::get_if<LoopRef>(&input)) {
    n = (*loop)->items->items.size();
  } else if (!std::holds_alternative<Undefined>(input)) {
    return wrong(fmt::format("a {} has no length", type_name(input)));
  }
  return Value(static_cast<std::int64_t>(n));
}

Result<Value> Interpreter::filter_text(std::string_view name, const Value& input,
                                       const Arguments& arguments) {
  ML_CHECK(refuse_safe(input));
  ML_TRY(const std::string text, text_of(input));
  ML_CHECK(spend(text.size() / 16));
  if (name == "trim") {
    ML_TRY(const Bound bound, bind(name, arguments, {"chars"}));
    if (!bound[0] || std::holds_alternative<None>(*bound[0]))
      return new_text(std::string(strip(text, Side::both)));
    ML_TRY(const std::string_view set, strip_set(name, *bound[0]));
    return new_text(std::string(strip(text, Side::both, set)));
  }
  if (name == "replace") {
    ML_TRY(const Bound bound, bind(name, arguments, {"old", "new", "count"}, 2));
    if (bound[2] && !std::holds_alternative<None>(*bound[2]))
      return not_known("the filter 'replace' with a count");
    ML_TRY(const std::string from, text_of(*bound[0]));
    ML_TRY(const std::string to, text_of(*bound[1]));
    ML_TRY(std::string out, replace(text, from, to, -1, bytes_left()));
    ML_CHECK(spend(out.size() / 16));
    return new_text(std::move(out));
  }
  ML_CHECK(bind(name, arguments, {}));
  const Case how = name == "upper"        ? Case::upper
                   : name == "lower"      ? Case::lower
                   : name == "capitalize" ? Case::capitalize
                                          : Case::title_words;
  ML_TRY(std::string out, change_case(text, how));
  return new_text(std::move(out));
}

// As transformers defines it: characters beyond ASCII stay, nothing is escaped for HTML.
Result<Value> Interpreter::filter_json(const Value& input, const Arguments& arguments) {
  ML_TRY(const Bound bound, bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  const auto given = [&](std::size_t i) { return bound[i] && !std::holds_alternative<None>(*bound[i]); };
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
    if (given(i) && truth(*bound[i])) return not_known("'tojson' with ensure_ascii or sort_keys");
  }
  std::optional<Separators> separators;
  if (given(2)) {
    const auto* pair = std::get_if<ListRef>(&*bound[2]);
    const auto text_at = [&](std::size_t i) { return std::get_if<Text>(&(*pair)->items[i]); };
    if (pair == nullptr || (*pair)->items.size() != 2 || text_at(0) == nullptr || text_at(1) == nullptr) {
      return wrong("'tojson' takes two separators");
    }
    separators = {**text_at(0), **text_at(1)};
    if (separators->item.size() + separators->key.size() > kMaxIndent) {
      return Error{.status = Status::limit, .message = "'tojson' with long separators"};
    }
  }
  std::int64_t indent = -1;
  if (given(1)) {
    if (!is_number(*bound[1]) || std::holds_alternative<double>(*bound[1])) {
      return not_known("'tojson' with an indent that is no number");
    }
    indent = std::max<std::int64_t>(as_integer(*bound[1]), 0);
    if (indent > kMaxIndent) return Error{.status = Status::limit, .message = "'tojson' with a wide indent"};
  }
  ML_CHECK(spend(weight_of(input)));
  ML_TRY(std::string text, to_json(input, indent, separators, bytes_left()));
  ML_CHECK(spend(text.size() / 16));
  return new_text(std::move(text));
}

Result<Value> Interpreter::filter_integer(const Value& input, const Arguments& arguments) {
  ML_TRY(const Bound bound, bind("int", arguments, {"default", "base"}));
  if (bound[1]) return not_known("the filter 'int' with a base");
  const Value otherwise = bound[0] ? *bound[0] : Value(std::int64_t{0});
  if (const auto* real = std::get_if<double>(&input)) {
    if (!(*real > -9e18 && *real < 9e18)) return not_known("the filter 'int' of so large a number");
    return Value(static_cast<std::int64_t>(*real));
  }
  if (is_number(input)) return Value(as_integer(input));
  if (const auto* undefined = std::get_if<Undefined>(&input)) {
    return wrong(fmt::format("{} is undefined", *undefined->name));
  }
  const auto* text = std::get_if<Text>(&input);
  if (text == nullptr) return otherwise;
  ML_CHECK(spend((*text)->size() / 16));
  std::string_view digits = strip(**text, Side::both);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure == std::errc() && end == digits.data() + digits.size()) return Value(number);
  // Python also reads 1_000, 1e3, digits of other scripts, numbers of any length.
  for (const char c : digits) {
    if ((c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80) {
      return not_known("the filter 'int' of text that is not a plain number");
    }
  }
  return otherwise;
}

}  // namespace ml::chat
