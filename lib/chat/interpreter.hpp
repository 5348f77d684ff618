#pragma once

// Runs a template's tree. Every step, byte of text and level of nesting is counted against a limit, so that
// no template runs long, whatever it is.

#include "chat/ast.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml::chat {

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // many templates are worth more than long ones
inline constexpr std::uint64_t kMaxSteps = 100'000;
inline constexpr std::uint64_t kMaxBytes = 1 << 20;
#else
inline constexpr std::uint64_t kMaxSteps = 10'000'000;
/// Text and lists that a rendering may make in total, more for longer messages.
inline constexpr std::uint64_t kMaxBytes = 64 << 20;
#endif
inline constexpr std::uint64_t kBytesPerInputByte = 64;
/// Expressions and blocks that run inside each other, macros included.
inline constexpr unsigned kMaxDepth = 400;
/// What range() may count, as in the reference.
inline constexpr std::int64_t kMaxRange = 100'000;

/// A point in time, in whatever zone.
struct Date {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// @error arg  not 2026-11-29, 2026-11-29 08:30 or 2026-11-29T08:30:05
Result<Date> parse_date(std::string_view text);
/// strftime in the C locale.
/// @error unsupported  a directive that needs more than the date
Result<std::string> format_date(std::string_view format, const Date& date);

struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;
};

/// Arguments in the order of a callee's parameters.
using Bound = std::vector<std::optional<Value>>;
Result<Bound> bind(std::string_view callee, const Arguments& arguments,
                   std::initializer_list<std::string_view> parameters, std::size_t n_needed = 0);

class Interpreter {
 public:
  using Scope = std::map<std::string, Value, std::less<>>;

  /// @param n_bytes  of the messages and variables
  Interpreter(Scope variables, std::optional<Date> date, std::uint64_t n_bytes);

  Result<std::string> run(const Template& whole);

 private:
  enum class Flow : std::uint8_t { on, leave, next };

  // run.cpp: statements
  Result<Flow> run_block(const Block& block);
  Result<Flow> run_statement(const Statement& statement);
  Result<Flow> run_condition(const Statement& statement);
  Result<Flow> run_loop(const Statement& loop);
  Result<ListRef> loop_items(const Statement& loop);
  Result<void> assign(const Statement& statement);
  Result<void> assign_names(const std::vector<std::string>& names, const Value& value);
  Result<std::string> capture(const Block& block);
  Result<void> enter_scope(const std::vector<std::string>& hidden);
  Result<void> hide(const std::vector<std::string>& names);
  Result<void> write(std::string_view text);

  // evaluate.cpp: expressions
  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate_kind(const Expression& expression);
  Result<Value> look_up(const std::string& name);
  Result<Value> evaluate_container(const Expression& expression);
  Result<Value> evaluate_slice(const Expression& expression);
  Result<Value> evaluate_call(const Expression& call);
  Result<Value> evaluate_filter(const Expression& filter);
  Result<Value> evaluate_test(const Expression& test);
  Result<Value> evaluate_comparison(const Expression& comparison);
  Result<Value> evaluate_concat(const Expression& concat);
  Result<Value> evaluate_choice(const Expression& choice);
  Result<Arguments> evaluate_arguments(const Expression& call);

  // operators.cpp
  Result<Value> arithmetic(char sign, bool floor, const Value& left, const Value& right);
  Result<Value> add(const Value& left, const Value& right);
  Result<Value> repeat(const Value& sequence, std::int64_t n);
  Result<bool> compare(std::string_view sign, const Value& left, const Value& right);
  Result<bool> contains(const Value& container, const Value& item);
  Result<bool> same(const Value& a, const Value& b);

  // access.cpp
  Result<Value> attribute(const Value& object, std::string_view name);
  Result<Value> item(const Value& object, const Value& index);
  Result<Value> slice(const Value& object, const Value& start, const Value& stop, const Value& step);
  Result<ListRef> iterate(const Value& value);
  Result<const Value*> find_in(const Dict& dict, std::string_view key);

  // methods.cpp
  Result<Value> call_method(const Value& object, const std::string& name, const Arguments& arguments);
  Result<Value> text_method(const std::string& text, std::string_view name, const Arguments& arguments);
  Result<std::string_view> strip_set(std::string_view name, const Value& set);
  Result<bool> has_end(std::string_view name, std::string_view text, const Value& end);
  Result<Value> split_method(const std::string& text, bool right, const Arguments& arguments);
  Result<Value> join(std::string_view separator, const List& list, bool only_text);
  Result<Value> dict_method(const DictRef& dict, std::string_view name, const Arguments& arguments);

  // functions.cpp
  Result<Value> call(const Value& callee, const Arguments& arguments);
  Result<Value> call_macro(const Statement& macro, const Arguments& arguments);
  Result<Value> call_range(const Arguments& arguments);
  Result<Value> call_dict(const Arguments& arguments);
  Result<Value> call_namespace(const Arguments& arguments);

  // filters.cpp, filters_of_lists.cpp, predicates.cpp
  Result<Value> apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> filter_text(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> filter_json(const Value& input, const Arguments& arguments);
  Result<Value> filter_integer(const Value& input, const Arguments& arguments);
  Result<Value> filter_safe(const Value& input, const Arguments& arguments);
  Result<void> refuse_safe(const Value& value) const;
  Result<Value> filter_length(const Value& input);
  Result<Value> filter_list(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> filter_ends(const Value& input, bool last);
  Result<Value> filter_join(const Value& input, const Arguments& arguments);
  Result<Value> filter_map(const Value& input, const Arguments& arguments);
  Result<Value> filter_select(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> attribute_path(const Value& object, const Value& path, const std::optional<Value>& otherwise);
  Result<bool> apply_test(std::string_view name, const Value& input, const Arguments& arguments);

  // Counting. What passes over n bytes of text spends some n / 16 steps, or charges them.
  Result<void> spend(std::uint64_t n_steps);
  Result<void> spend_text(const Value& value);
  Result<void> charge(std::uint64_t n_bytes);
  std::uint64_t bytes_left() const { return max_bytes_ - n_bytes_; }
  Result<Value> new_text(std::string text);
  Result<Value> new_list(std::vector<Value> items, ListKind kind = ListKind::list);
  Result<std::string> text_of(const Value& value);
  Value missing(std::string_view name) const;

  std::vector<Scope> scopes_;
  std::size_t base_ = 0;  ///< the first scope that a macro's body sees, besides that of the template itself
  std::vector<Scope> namespaces_;
  std::set<Text> safe_;
  std::optional<Date> date_;
  std::string* out_ = nullptr;
  std::uint64_t n_steps_ = 0;
  std::uint64_t n_bytes_ = 0;
  std::uint64_t max_bytes_ = kMaxBytes;
  unsigned depth_ = 0;
  bool located_ = false;       ///< the error on its way out names its line, or is the template's own
  bool in_condition_ = false;  ///< of a for, which the reference evaluates between the turns
};

Error wrong(std::string message);
Error not_known(std::string_view what);

}  // namespace ml::chat
