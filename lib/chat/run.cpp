#include "chat/interpreter.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <utility>

namespace ml::chat {

Error wrong(std::string message) { return {.status = Status::format, .message = std::move(message)}; }

Error not_known(std::string_view what) {
  return {.status = Status::unsupported,
          .message = fmt::format("the template uses {}, which is not known", what)};
}

Interpreter::Interpreter(Scope variables, std::optional<Date> date, std::uint64_t n_bytes)
    : date_(date), max_bytes_(kMaxBytes + kBytesPerInputByte * n_bytes) {
  scopes_.push_back(std::move(variables));
}

Result<std::string> Interpreter::run(const Template& whole) {
  ML_CHECK(hide(whole.hidden));
  return capture(whole.block);
}

Result<void> Interpreter::hide(const std::vector<std::string>& names) {
  ML_CHECK(spend(8 * names.size()));  // a name costs as much as several steps
  for (const std::string& name : names) {
    scopes_.back().insert_or_assign(name, missing(fmt::format("'{}'", name)));
  }
  return {};
}

Result<void> Interpreter::enter_scope(const std::vector<std::string>& hidden) {
  scopes_.emplace_back();
  return hide(hidden);
}

Result<void> Interpreter::spend(std::uint64_t n_steps) {
  n_steps_ += n_steps;
  if (n_steps_ <= kMaxSteps) return {};
  return Error{.status = Status::limit,
               .message = fmt::format("the template takes over {} steps", kMaxSteps)};
}

Result<void> Interpreter::spend_text(const Value& value) {
  const auto* text = std::get_if<Text>(&value);
  return spend(text != nullptr ? (*text)->size() / 16 : 0);
}

Result<void> Interpreter::charge(std::uint64_t n_bytes) {
  if (n_bytes > bytes_left()) {
    return Error{.status = Status::limit,
                 .message = fmt::format("the template makes over {} bytes of text and lists", max_bytes_)};
  }
  n_bytes_ += n_bytes;
  return {};
}

Result<Value> Interpreter::new_text(std::string text) {
  ML_CHECK(charge(text.size() + 64));
  return text_value(std::move(text));
}

Result<Value> Interpreter::new_list(std::vector<Value> items, ListKind kind) {
  ML_CHECK(charge(items.size() * sizeof(Value) + 64));
  ML_CHECK(spend(items.size() / 8));
  return make_list(std::move(items), kind);
}

Result<std::string> Interpreter::text_of(const Value& value) {
  ML_CHECK(spend(weight_of(value)));
  if (height_of(value) > 0 && !safe_.empty()) {
    return not_known("text that is marked safe beside a list or dict that is printed");
  }
  ML_TRY(std::string text, to_text(value, bytes_left()));
  ML_CHECK(charge(text.size()));
  return text;
}

Value Interpreter::missing(std::string_view name) const {
  return Undefined{std::make_shared<const std::string>(name)};
}

Result<void> Interpreter::write(std::string_view text) {
  ML_CHECK(charge(text.size()));
  out_->append(text);
  return {};
}

Result<std::string> Interpreter::capture(const Block& block) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  ML_CHECK(run_block(block));
  out_ = outer;
  return text;
}

Result<Interpreter::Flow> Interpreter::run_block(const Block& block) {
  if (++depth_ > kMaxDepth) {
    return Error{.status = Status::limit,
                 .message = fmt::format("the template is nested over {} levels deep", kMaxDepth)};
  }
  for (const Statement& statement : block) {
    auto flow = run_statement(statement);
    if (!flow && !std::exchange(located_, true)) {
      flow.error().message = fmt::format("line {}: {}", statement.line, flow.error().message);
    }
    if (!flow) return flow;
    if (*flow != Flow::on) {
      --depth_;
      return flow;
    }
  }
  --depth_;
  return Flow::on;
}

Result<Interpreter::Flow> Interpreter::run_statement(const Statement& statement) {
  ML_CHECK(spend(1));
  switch (statement.kind) {
    case StatementKind::text: ML_CHECK(write(statement.text)); break;
    case StatementKind::print: {
      ML_TRY(const Value value, evaluate(*statement.expression));
      ML_TRY(const std::string text, text_of(value));
      ML_CHECK(write(text));
      break;
    }
    case StatementKind::condition: return run_condition(statement);
    case StatementKind::loop: return run_loop(statement);
    case StatementKind::assignment: ML_CHECK(assign(statement)); break;
    case StatementKind::capture: {
      ML_CHECK(enter_scope(statement.hidden));
      ML_TRY(std::string text, capture(statement.body));
      scopes_.pop_back();
      ML_TRY(Value value, new_text(std::move(text)));
      if (!statement.attribute.empty()) return not_known("a set block of a namespace");
      scopes_.back().insert_or_assign(statement.targets.front(), std::move(value));
      break;
    }
    case StatementKind::macro: scopes_.back().insert_or_assign(statement.text, MacroRef{&statement}); break;
    case StatementKind::scope: {
      ML_CHECK(enter_scope(statement.hidden));
      ML_CHECK(run_block(statement.body));
      scopes_.pop_back();
      break;
    }
    case StatementKind::leave: return Flow::leave;
    case StatementKind::next: return Flow::next;
  }
  return Flow::on;
}

Result<Interpreter::Flow> Interpreter::run_condition(const Statement& statement) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition != nullptr) {
      ML_TRY(const Value value, evaluate(*branch.condition));
      if (!truth(value)) continue;
    }
    return run_block(branch.body);
  }
  return Flow::on;
}

// What a for passes: the items, less those that its condition leaves out.
Result<ListRef> Interpreter::loop_items(const Statement& loop) {
  ML_TRY(const Value value, evaluate(*loop.expression));
  ML_TRY(ListRef items, iterate(value));
  if (loop.condition == nullptr) return items;
  std::vector<Value> kept;
  for (const Value& one : items->items) {
    scopes_.emplace_back();
    ML_CHECK(assign_names(loop.targets, one));
    const bool outer = std::exchange(in_condition_, true);
    ML_TRY(const Value keep, evaluate(*loop.condition));
    in_condition_ = outer;
    scopes_.pop_back();
    if (truth(keep)) kept.push_back(one);
  }
  ML_TRY(const Value list, new_list(std::move(kept)));
  return std::get<ListRef>(list);
}

// The else runs unless a turn came to its end: an item that is left by break or continue does not count.
Result<Interpreter::Flow> Interpreter::run_loop(const Statement& loop) {
  ML_TRY(const ListRef items, loop_items(loop));
  bool ended = false;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    ML_CHECK(spend(1));
    ML_CHECK(enter_scope(loop.hidden));
    scopes_.back().emplace("loop", std::make_shared<const LoopState>(LoopState{.items = items, .index = i}));
    ML_CHECK(assign_names(loop.targets, items->items[i]));
    ML_TRY(const Flow flow, run_block(loop.body));
    scopes_.pop_back();
    ended = ended || flow == Flow::on;
    if (flow == Flow::leave) break;
  }
  if (ended) return Flow::on;
  ML_CHECK(enter_scope(loop.hidden_otherwise));
  ML_TRY(const Flow flow, run_block(loop.otherwise));
  scopes_.pop_back();
  return flow;
}

Result<void> Interpreter::assign_names(const std::vector<std::string>& names, const Value& value) {
  if (names.size() == 1) {
    scopes_.back().insert_or_assign(names.front(), value);
    return {};
  }
  ML_CHECK(spend(names.size()));
  ML_TRY(const ListRef parts, iterate(value));
  if (parts->items.size() != names.size()) {
    return wrong(fmt::format("{} values for {} variables", parts->items.size(), names.size()));
  }
  for (std::size_t i = 0; i < names.size(); ++i) scopes_.back().insert_or_assign(names[i], parts->items[i]);
  return {};
}

Result<void> Interpreter::assign(const Statement& statement) {
  ML_TRY(Value value, evaluate(*statement.expression));
  if (const auto* list = std::get_if<ListRef>(&value);
      list != nullptr && (*list)->kind == ListKind::generator) {
    // It could be passed only once; as a list it could be passed often.
    return not_known("a variable that holds a generator (append |list)");
  }
  if (statement.attribute.empty()) return assign_names(statement.targets, value);
  ML_TRY(const Value target, look_up(statement.targets.front()));
  const auto* space = std::get_if<NamespaceRef>(&target);
  if (space == nullptr) return wrong(fmt::format("'{}' is no namespace", statement.targets.front()));
  namespaces_[space->index].insert_or_assign(statement.attribute, std::move(value));
  return {};
}

}  // namespace ml::chat
