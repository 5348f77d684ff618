#pragma once

#include "chat/ast.hpp"
#include "chat/lexer.hpp"

#include <span>

namespace ml::chat {

/// The tokens of a template with a place in them.
class TokenStream {
 public:
  explicit TokenStream(std::span<const Token> tokens) : tokens_(tokens) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_sign(std::string_view sign) const { return peek().kind == TokenKind::sign && peek().text == sign; }
  bool at_name(std::string_view name) const { return peek().kind == TokenKind::name && peek().text == name; }
  bool skip_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
  bool skip_name(std::string_view name) { return at_name(name) && (take(), true); }

  Result<void> expect_sign(std::string_view sign);
  Result<std::string> expect_name();
  Error unexpected() const;
  Error wrong(Status status, std::string_view message) const;

 private:
  std::span<const Token> tokens_;
  std::size_t at_ = 0;
};

/// Parses expressions by descent, a level for each strength of binding.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// Up to a comma, or whatever else no expression holds.
  Result<ExpressionPtr> parse(bool conditional = true);
  /// The same with commas, which make a tuple.
  Result<ExpressionPtr> parse_tuple(bool conditional = true);

 private:
  using Node = std::unique_ptr<Expression>;
  using Arguments = std::vector<ExpressionPtr>;

  Result<Node> parse_conditional();
  Result<Node> parse_or();
  Result<Node> parse_and();
  Result<Node> parse_not();
  Result<Node> parse_comparison();
  Result<Node> parse_sum();
  Result<Node> parse_concat();
  Result<Node> parse_product();
  Result<Node> parse_unary(bool filters);
  Result<Node> parse_primary();
  Result<Node> parse_list();
  Result<Node> parse_dict();
  Result<Node> parse_parentheses();
  Result<Node> parse_postfix(Node node);
  Result<Node> parse_filters(Node node);
  Result<Node> parse_attribute(Node object);
  Result<Node> parse_item(Node object);
  Result<Node> parse_filter(Node input);
  Result<Node> parse_test(Node input);
  Result<void> parse_arguments(Expression& call);
  bool at_tuple_end() const;

  Node make(ExpressionKind kind, int line) const;
  /// Adds a child and checks the tree's height.
  Result<void> add(Expression& parent, ExpressionPtr child) const;
  Result<Node> binary(ExpressionKind kind, std::string_view sign, int line, Node left,
                      Result<Node> right) const;

  TokenStream& tokens_;
  unsigned depth_ = 0;
};

}  // namespace ml::chat
