#include "chat/parse_expression.hpp"

#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ml::chat {

namespace {

constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};
// Brackets inside each other, which the parser itself recurses over.
constexpr unsigned kMaxBrackets = 48;

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::text: return "text";
    case TokenKind::print_begin: return "'{{'";
    case TokenKind::print_end: return "'}}'";
    case TokenKind::block_begin: return "'{%'";
    case TokenKind::block_end: return "'%}'";
    case TokenKind::name:
    case TokenKind::sign: return fmt::format("'{}'", show_name(token.text));
    case TokenKind::string: return "a string";
    case TokenKind::integer:
    case TokenKind::real: return "a number";
    case TokenKind::end: return "the template's end";
  }
  return "?";
}

}  // namespace

Error TokenStream::wrong(Status status, std::string_view message) const {
  return {.status = status, .message = fmt::format("line {}: {}", peek().line, message)};
}

Error TokenStream::unexpected() const {
  return wrong(Status::format, fmt::format("unexpected {}", describe(peek())));
}

Result<void> TokenStream::expect_sign(std::string_view sign) {
  if (skip_sign(sign)) return {};
  return wrong(Status::format, fmt::format("{} where '{}' should be", describe(peek()), sign));
}

Result<std::string> TokenStream::expect_name() {
  if (at(TokenKind::name)) return take().text;
  return wrong(Status::format, fmt::format("{} where a name should be", describe(peek())));
}

ExpressionParser::Node ExpressionParser::make(ExpressionKind kind, int line) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

Result<void> ExpressionParser::add(Expression& parent, ExpressionPtr child) const {
  if (child != nullptr) parent.height = std::max(parent.height, child->height + 1);
  if (parent.height > kMaxNesting) {
    return tokens_.wrong(Status::limit,
                         fmt::format("an expression is nested over {} levels deep", kMaxNesting));
  }
  parent.children.push_back(std::move(child));
  return {};
}

Result<ExpressionParser::Node> ExpressionParser::binary(ExpressionKind kind, std::string_view sign, int line,
                                                        Node left, Result<Node> right) const {
  if (!right) return right;
  Node node = make(kind, line);
  if (!sign.empty()) node->signs.emplace_back(sign);
  ML_CHECK(add(*node, std::move(left)));
  ML_CHECK(add(*node, std::move(*right)));
  return node;
}

Result<ExpressionPtr> ExpressionParser::parse(bool conditional) {
  if (++depth_ > kMaxBrackets) {
    return tokens_.wrong(Status::limit,
                         fmt::format("an expression has brackets over {} levels deep", kMaxBrackets));
  }
  auto node = conditional ? parse_conditional() : parse_or();
  --depth_;
  if (!node) return std::move(node.error());
  return ExpressionPtr(std::move(*node));
}

bool ExpressionParser::at_tuple_end() const {
  return tokens_.at(TokenKind::block_end) || tokens_.at(TokenKind::print_end) || tokens_.at_sign(")");
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(bool conditional) {
  const int line = tokens_.peek().line;
  ML_TRY(ExpressionPtr first, parse(conditional));
  if (!tokens_.at_sign(",")) return first;
  Node tuple = make(ExpressionKind::tuple, line);
  ML_CHECK(add(*tuple, std::move(first)));
  while (tokens_.skip_sign(",") && !at_tuple_end()) {
    ML_TRY(ExpressionPtr item, parse(conditional));
    ML_CHECK(add(*tuple, std::move(item)));
  }
  return ExpressionPtr(std::move(tuple));
}

Result<ExpressionParser::Node> ExpressionParser::parse_conditional() {
  const int line = tokens_.peek().line;
  ML_TRY(Node value, parse_or());
  while (tokens_.skip_name("if")) {
    ML_TRY(Node condition, parse_or());
    ExpressionPtr otherwise;
    if (tokens_.skip_name("else")) {
      ML_TRY(otherwise, parse());
    }
    Node node = make(ExpressionKind::conditional, line);
    ML_CHECK(add(*node, std::move(value)));
    ML_CHECK(add(*node, std::move(condition)));
    ML_CHECK(add(*node, std::move(otherwise)));
    value = std::move(node);
  }
  return value;
}

Result<ExpressionParser::Node> ExpressionParser::parse_or() {
  ML_TRY(Node left, parse_and());
  while (tokens_.at_name("or")) {
    const int line = tokens_.take().line;
    ML_TRY(left, binary(ExpressionKind::disjunction, "", line, std::move(left), parse_and()));
  }
  return left;
}

Result<ExpressionParser::Node> ExpressionParser::parse_and() {
  ML_TRY(Node left, parse_not());
  while (tokens_.at_name("and")) {
    const int line = tokens_.take().line;
    ML_TRY(left, binary(ExpressionKind::conjunction, "", line, std::move(left), parse_not()));
  }
  return left;
}

Result<ExpressionParser::Node> ExpressionParser::parse_not() {
  std::vector<int> lines;
  while (tokens_.at_name("not")) lines.push_back(tokens_.take().line);
  ML_TRY(Node node, parse_comparison());
  for (; !lines.empty(); lines.pop_back()) {
    Node negation = make(ExpressionKind::negation, lines.back());
    ML_CHECK(add(*negation, std::move(node)));
    node = std::move(negation);
  }
  return node;
}

Result<ExpressionParser::Node> ExpressionParser::parse_comparison() {
  const int line = tokens_.peek().line;
  ML_TRY(Node first, parse_sum());
  Node comparison;
  while (true) {
    std::string sign;
    const Token& token = tokens_.peek();
    if (token.kind == TokenKind::sign &&
        std::find(kComparisons.begin(), kComparisons.end(), token.text) != kComparisons.end()) {
      sign = tokens_.take().text;
    } else if (tokens_.skip_name("in")) {
      sign = "in";
    } else if (tokens_.at_name("not") && tokens_.peek(1).kind == TokenKind::name &&
               tokens_.peek(1).text == "in") {
      tokens_.take();
      tokens_.take();
      sign = "not in";
    } else {
      break;
    }
    if (comparison == nullptr) {
      comparison = make(ExpressionKind::comparison, line);
      ML_CHECK(add(*comparison, std::move(first)));
    }
    ML_TRY(Node right, parse_sum());
    comparison->signs.push_back(std::move(sign));
    ML_CHECK(add(*comparison, std::move(right)));
  }
  return comparison != nullptr ? std::move(comparison) : std::move(first);
}

Result<ExpressionParser::Node> ExpressionParser::parse_sum() {
  ML_TRY(Node left, parse_concat());
  while (tokens_.at_sign("+") || tokens_.at_sign("-")) {
    const Token& sign = tokens_.take();
    ML_TRY(left, binary(ExpressionKind::arithmetic, sign.text, sign.line, std::move(left), parse_concat()));
  }
  return left;
}

Result<ExpressionParser::Node> ExpressionParser::parse_concat() {
  const int line = tokens_.peek().line;
  ML_TRY(Node first, parse_product());
  if (!tokens_.at_sign("~")) return first;
  Node concat = make(ExpressionKind::concat, line);
  ML_CHECK(add(*concat, std::move(first)));
  while (tokens_.skip_sign("~")) {
    ML_TRY(Node next, parse_product());
    ML_CHECK(add(*concat, std::move(next)));
  }
  return concat;
}

Result<ExpressionParser::Node> ExpressionParser::parse_product() {
  ML_TRY(Node left, parse_unary(true));
  while (true) {
    if (tokens_.at_sign("**")) return tokens_.wrong(Status::unsupported, "the operator **");
    if (!tokens_.at_sign("*") && !tokens_.at_sign("/") && !tokens_.at_sign("//") && !tokens_.at_sign("%"))
      break;
    const Token& sign = tokens_.take();
    ML_TRY(left,
           binary(ExpressionKind::arithmetic, sign.text, sign.line, std::move(left), parse_unary(true)));
  }
  return left;
}

// Postfixes bind stronger than a sign, filters weaker: -x.y|f is (-(x.y))|f.
Result<ExpressionParser::Node> ExpressionParser::parse_unary(bool filters) {
  std::vector<const Token*> signs;
  while (tokens_.at_sign("-") || tokens_.at_sign("+")) signs.push_back(&tokens_.take());
  ML_TRY(Node node, parse_primary());
  ML_TRY(node, parse_postfix(std::move(node)));
  for (; !signs.empty(); signs.pop_back()) {
    const bool minus = signs.back()->text == "-";
    Node signed_node = make(minus ? ExpressionKind::minus : ExpressionKind::plus, signs.back()->line);
    ML_CHECK(add(*signed_node, std::move(node)));
    node = std::move(signed_node);
  }
  if (!filters) return node;
  return parse_filters(std::move(node));
}

Result<ExpressionParser::Node> ExpressionParser::parse_primary() {
  const Token& token = tokens_.peek();
  Node node = make(ExpressionKind::literal, token.line);
  switch (token.kind) {
    case TokenKind::name:
      tokens_.take();
      if (token.text == "true" || token.text == "True") {
        node->value = true;
      } else if (token.text == "false" || token.text == "False") {
        node->value = false;
      } else if (token.text == "none" || token.text == "None") {
        node->value = None{};
      } else {
        node->kind = ExpressionKind::name;
        node->name = token.text;
      }
      return node;
    case TokenKind::string: {
      std::string text;
      while (tokens_.at(TokenKind::string)) text += tokens_.take().text;
      node->value = text_value(std::move(text));
      return node;
    }
    case TokenKind::integer: node->value = tokens_.take().integer; return node;
    case TokenKind::real: node->value = tokens_.take().real; return node;
    default: break;
  }
  if (tokens_.at_sign("(")) return parse_parentheses();
  if (tokens_.at_sign("[")) return parse_list();
  if (tokens_.at_sign("{")) return parse_dict();
  return tokens_.unexpected();
}

Result<ExpressionParser::Node> ExpressionParser::parse_parentheses() {
  const int line = tokens_.take().line;
  if (tokens_.skip_sign(")")) return make(ExpressionKind::tuple, line);
  ML_TRY(ExpressionPtr inner, parse_tuple());
  ML_CHECK(tokens_.expect_sign(")"));
  return Node(const_cast<Expression*>(inner.release()));
}

Result<ExpressionParser::Node> ExpressionParser::parse_list() {
  Node list = make(ExpressionKind::list, tokens_.take().line);
  while (!tokens_.at_sign("]")) {
    ML_TRY(ExpressionPtr item, parse());
    ML_CHECK(add(*list, std::move(item)));
    if (!tokens_.skip_sign(",")) break;
  }
  ML_CHECK(tokens_.expect_sign("]"));
  return list;
}

Result<ExpressionParser::Node> ExpressionParser::parse_dict() {
  Node dict = make(ExpressionKind::dict, tokens_.take().line);
  while (!tokens_.at_sign("}")) {
    ML_TRY(ExpressionPtr key, parse());
    ML_CHECK(tokens_.expect_sign(":"));
    ML_TRY(ExpressionPtr value, parse());
    ML_CHECK(add(*dict, std::move(key)));
    ML_CHECK(add(*dict, std::move(value)));
    if (!tokens_.skip_sign(",")) break;
  }
  ML_CHECK(tokens_.expect_sign("}"));
  return dict;
}

}  // namespace ml::chat
