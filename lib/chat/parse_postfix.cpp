// What follows an operand: attributes, items, calls, filters, tests.

#include "chat/parse_expression.hpp"
#include "util/try.hpp"

namespace ml::chat {

Result<ExpressionParser::Node> ExpressionParser::parse_postfix(Node node) {
  while (true) {
    if (tokens_.at_sign(".")) {
      ML_TRY(node, parse_attribute(std::move(node)));
    } else if (tokens_.at_sign("[")) {
      ML_TRY(node, parse_item(std::move(node)));
    } else if (tokens_.at_sign("(")) {
      Node call = make(ExpressionKind::call, tokens_.peek().line);
      ML_CHECK(add(*call, std::move(node)));
      ML_CHECK(parse_arguments(*call));
      node = std::move(call);
    } else {
      return node;
    }
  }
}

Result<ExpressionParser::Node> ExpressionParser::parse_filters(Node node) {
  while (true) {
    if (tokens_.at_sign("|")) {
      ML_TRY(node, parse_filter(std::move(node)));
    } else if (tokens_.at_name("is")) {
      ML_TRY(node, parse_test(std::move(node)));
    } else if (tokens_.at_sign("(")) {
      return tokens_.wrong(Status::unsupported, "calling the result of a filter or test");
    } else {
      return node;
    }
  }
}

Result<ExpressionParser::Node> ExpressionParser::parse_attribute(Node object) {
  const int line = tokens_.take().line;
  if (tokens_.at(TokenKind::integer)) {
    Node index = make(ExpressionKind::literal, line);
    index->value = tokens_.take().integer;
    return binary(ExpressionKind::item, "", line, std::move(object), std::move(index));
  }
  Node node = make(ExpressionKind::attribute, line);
  ML_TRY(node->name, tokens_.expect_name());
  ML_CHECK(add(*node, std::move(object)));
  return node;
}

Result<ExpressionParser::Node> ExpressionParser::parse_item(Node object) {
  Node node = make(ExpressionKind::item, tokens_.take().line);
  ML_CHECK(add(*node, std::move(object)));
  ExpressionPtr first;
  if (!tokens_.at_sign(":")) {
    ML_TRY(first, parse());
  }
  if (tokens_.at_sign(",")) return tokens_.wrong(Status::unsupported, "an index of several parts");
  const bool slice = tokens_.at_sign(":");
  ML_CHECK(add(*node, std::move(first)));
  if (slice) {
    node->kind = ExpressionKind::slice;
    for (int part = 0; part < 2; ++part) {
      ExpressionPtr bound;
      if (tokens_.skip_sign(":") && !tokens_.at_sign(":") && !tokens_.at_sign("]")) {
        ML_TRY(bound, parse());
      }
      ML_CHECK(add(*node, std::move(bound)));
    }
  }
  ML_CHECK(tokens_.expect_sign("]"));
  return node;
}

Result<void> ExpressionParser::parse_arguments(Expression& call) {
  ML_CHECK(tokens_.expect_sign("("));
  while (!tokens_.at_sign(")")) {
    if (tokens_.at_sign("*") || tokens_.at_sign("**")) {
      return tokens_.wrong(Status::unsupported, "unpacking arguments with * or **");
    }
    const Token& next = tokens_.peek(1);
    if (tokens_.at(TokenKind::name) && next.kind == TokenKind::sign && next.text == "=") {
      std::string name = tokens_.take().text;
      tokens_.take();
      ML_TRY(ExpressionPtr value, parse());
      // Its height counts as a child's does.
      ML_CHECK(add(call, std::move(value)));
      call.keywords.emplace_back(std::move(name), std::move(call.children.back()));
      call.children.pop_back();
    } else {
      if (!call.keywords.empty()) return tokens_.unexpected();
      ML_TRY(ExpressionPtr value, parse());
      ML_CHECK(add(call, std::move(value)));
    }
    if (!tokens_.skip_sign(",")) break;
  }
  return tokens_.expect_sign(")");
}

Result<ExpressionParser::Node> ExpressionParser::parse_filter(Node input) {
  tokens_.take();
  Node node = make(ExpressionKind::filter, tokens_.peek().line);
  ML_TRY(node->name, tokens_.expect_name());
  ML_CHECK(add(*node, std::move(input)));
  if (tokens_.at_sign("(")) ML_CHECK(parse_arguments(*node));
  return node;
}

Result<ExpressionParser::Node> ExpressionParser::parse_test(Node input) {
  Node node = make(ExpressionKind::test, tokens_.take().line);
  const bool negated = tokens_.skip_name("not");
  ML_TRY(node->name, tokens_.expect_name());
  ML_CHECK(add(*node, std::move(input)));
  const auto at_argument = [&] {
    switch (tokens_.peek().kind) {
      case TokenKind::name:
        return !tokens_.at_name("else") && !tokens_.at_name("or") && !tokens_.at_name("and");
      case TokenKind::string:
      case TokenKind::integer:
      case TokenKind::real: return true;
      default: return tokens_.at_sign("[") || tokens_.at_sign("{");
    }
  };
  if (tokens_.at_sign("(")) {
    ML_CHECK(parse_arguments(*node));
  } else if (at_argument()) {
    // An `if` or the like would be the argument here, as the reference reads it, and mean what nobody meant.
    for (const char* word : {"if", "is", "in", "not"}) {
      if (tokens_.at_name(word)) return tokens_.unexpected();
    }
    ML_TRY(Node argument, parse_primary());
    ML_TRY(argument, parse_postfix(std::move(argument)));
    ML_CHECK(add(*node, std::move(argument)));
  }
  if (!negated) return node;
  Node negation = make(ExpressionKind::negation, node->line);
  ML_CHECK(add(*negation, std::move(node)));
  return negation;
}

}  // namespace ml::chat
