#include "chat/hidden_names.hpp"

#include <set>
#include <string_view>

namespace ml::chat {

namespace {

using Names = std::vector<std::string>;

// A block with variables of its own, and the names that it reads or sets itself, not in blocks inside.
class Frame {
 public:
  explicit Frame(const Frame* outer) : outer_(outer) {}

  void read(std::string_view name) { seen_.insert(name); }

  // @param always  not only under a condition
  void set(std::string_view name, bool always) {
    if (seen_.insert(name).second && always) set_first_.push_back(name);
  }

  Names hidden() const {
    Names names;
    for (const std::string_view name : set_first_) {
      if (!seen_around(name)) names.emplace_back(name);
    }
    return names;
  }

 private:
  bool seen_around(std::string_view name) const {
    for (const Frame* frame = outer_; frame != nullptr; frame = frame->outer_) {
      if (frame->seen_.contains(name)) return true;
    }
    return false;
  }

  const Frame* outer_;
  std::set<std::string_view> seen_;
  std::vector<std::string_view> set_first_;
};

void collect(Frame& frame, const Expression* expression) {
  if (expression == nullptr) return;
  if (expression->kind == ExpressionKind::name) frame.read(expression->name);
  for (const ExpressionPtr& child : expression->children) collect(frame, child.get());
  for (const auto& [_, value] : expression->keywords) collect(frame, value.get());
}

void collect(Frame& frame, const Block& block, bool always) {
  for (const Statement& statement : block) {
    collect(frame, statement.expression.get());
    for (const Branch& branch : statement.branches) {
      collect(frame, branch.condition.get());
      collect(frame, branch.body, false);
    }
    if (statement.kind == StatementKind::macro) frame.set(statement.text, always);
    if (statement.kind != StatementKind::assignment && statement.kind != StatementKind::capture) continue;
    for (const std::string& name : statement.targets) {
      if (statement.attribute.empty()) {
        frame.set(name, always);
      } else {
        frame.read(name);
      }
    }
  }
}

Names settle(Frame& frame, Block& block);

void settle_inner(const Frame& outer, Statement& statement) {
  Frame frame(&outer);
  switch (statement.kind) {
    case StatementKind::loop: {
      for (const std::string& name : statement.targets) frame.read(name);
      Frame otherwise(&outer);
      statement.hidden_otherwise = settle(otherwise, statement.otherwise);
      break;
    }
    case StatementKind::macro:
      for (const Parameter& parameter : statement.parameters) frame.read(parameter.name);
      for (const Parameter& parameter : statement.parameters) collect(frame, parameter.otherwise.get());
      break;
    case StatementKind::capture:
    case StatementKind::scope: break;
    default: return;
  }
  statement.hidden = settle(frame, statement.body);
}

void settle_inside(const Frame& frame, Block& block) {
  for (Statement& statement : block) {
    for (Branch& branch : statement.branches) settle_inside(frame, branch.body);
    settle_inner(frame, statement);
  }
}

Names settle(Frame& frame, Block& block) {
  collect(frame, block, true);
  settle_inside(frame, block);
  return frame.hidden();
}

}  // namespace

void find_hidden_names(Template& whole) {
  Frame frame(nullptr);
  whole.hidden = settle(frame, whole.block);
}

}  // namespace ml::chat
