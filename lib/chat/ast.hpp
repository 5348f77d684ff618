#pragma once

// A template as a tree. Its height is bounded by the parser, so that all walks over it may recurse.

#include "chat/value.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ml::chat {

/// Expressions and statements inside each other.
inline constexpr unsigned kMaxNesting = 160;

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

enum class ExpressionKind : std::uint8_t {
  literal,      // value
  name,         // name
  list,         // children
  tuple,        // children
  dict,         // children: key, value, key, value, ...
  attribute,    // children: object; name
  item,         // children: object, index
  slice,        // children: object, start, stop, step; those left out are null
  call,         // children: callee, arguments...; keywords
  filter,       // children: input, arguments...; keywords; name
  test,         // children: input, arguments...; keywords; name
  negation,     // `not`; children: operand
  minus,        // children: operand
  plus,         // children: operand
  arithmetic,   // children: left, right; signs[0]: + - * / // %
  comparison,   // children: n + 1 operands; signs: n of == != < <= > >= in, not in
  concat,       // children
  conjunction,  // `and`; children: left, right
  disjunction,  // `or`; children: left, right
  conditional,  // children: value, condition, else or null
};

struct Expression {
  ExpressionKind kind = ExpressionKind::literal;
  int line = 1;
  unsigned height = 1;
  std::string name = {};
  Value value = {};
  std::vector<std::string> signs = {};
  std::vector<ExpressionPtr> children = {};
  std::vector<std::pair<std::string, ExpressionPtr>> keywords = {};
};

struct Statement;
using Block = std::vector<Statement>;

enum class StatementKind : std::uint8_t {
  text,        // text
  print,       // expression
  condition,   // branches, the last without condition for else
  loop,        // targets in expression if condition: body else otherwise
  assignment,  // targets = expression; of a namespace: targets[0].attribute
  capture,     // targets[0] = body
  macro,       // text(parameters): body
  scope,       // body: {% generation %}
  leave,       // {% break %}
  next,        // {% continue %}
};

struct Branch {
  ExpressionPtr condition;
  Block body;
};

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  ///< null where the macro names no default
};

struct Statement {
  StatementKind kind = StatementKind::text;
  int line = 1;
  std::string text;
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<std::string> targets;
  std::string attribute;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  Block body;
  Block otherwise;
  std::vector<std::string> hidden;            ///< names that are undefined in the body until it sets them
  std::vector<std::string> hidden_otherwise;  ///< the same of the other body
};

struct Template {
  Block block;
  std::vector<std::string> hidden;  ///< as for a statement's body
};

}  // namespace ml::chat
