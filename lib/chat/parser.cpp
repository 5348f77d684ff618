#include "chat/parser.hpp"

#include "chat/hidden_names.hpp"
#include "chat/parse_expression.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

namespace ml::chat {

namespace {

// Blocks inside each other.
constexpr unsigned kMaxBlocks = 48;

using Names = std::initializer_list<std::string_view>;

Statement make(StatementKind kind, int line) {
  Statement statement;
  statement.kind = kind;
  statement.line = line;
  return statement;
}

class Parser {
 public:
  explicit Parser(std::span<const Token> tokens) : tokens_(tokens), expressions_(tokens_) {}

  Result<Block> run() {
    ML_TRY(Block block, parse_block({}));
    if (!tokens_.at(TokenKind::end)) return tokens_.unexpected();
    return block;
  }

 private:
  // Statements up to a block that begins with one of `ends`; that block's name is still to be taken.
  Result<Block> parse_block(Names ends) {
    Block block;
    if (++depth_ > kMaxBlocks) {
      return tokens_.wrong(Status::limit, fmt::format("blocks are nested over {} levels deep", kMaxBlocks));
    }
    const int line = tokens_.peek().line;
    while (true) {
      if (tokens_.at(TokenKind::text)) {
        const Token& text = tokens_.take();
        block.push_back(make(StatementKind::text, text.line));
        block.back().text = text.text;
      } else if (tokens_.at(TokenKind::print_begin)) {
        ML_TRY(Statement statement, parse_print());
        block.push_back(std::move(statement));
      } else if (tokens_.at(TokenKind::block_begin)) {
        tokens_.take();
        if (std::any_of(ends.begin(), ends.end(), [&](auto name) { return tokens_.at_name(name); })) break;
        ML_TRY(Statement statement, parse_statement());
        block.push_back(std::move(statement));
      } else if (ends.size() == 0) {
        break;
      } else {
        return tokens_.wrong(Status::format, fmt::format("'{}' is missing for the block of line {}",
                                                         *std::prev(ends.end()), line));
      }
    }
    --depth_;
    return block;
  }

  Result<void> end_block() {
    if (tokens_.at(TokenKind::block_end)) {
      tokens_.take();
      return {};
    }
    return tokens_.unexpected();
  }

  // A block and the tag that ends it.
  Result<Block> parse_body(Names ends) {
    ML_CHECK(end_block());
    ML_TRY(Block body, parse_block(ends));
    tokens_.take();
    ML_CHECK(end_block());
    return body;
  }

  Result<Statement> parse_print() {
    Statement statement = make(StatementKind::print, tokens_.take().line);
    ML_TRY(statement.expression, expressions_.parse_tuple());
    if (!tokens_.at(TokenKind::print_end)) return tokens_.unexpected();
    tokens_.take();
    return statement;
  }

  Result<Statement> parse_statement() {
    const int line = tokens_.peek().line;
    if (tokens_.skip_name("if")) return parse_if(line);
    if (tokens_.skip_name("for")) return parse_for(line);
    if (tokens_.skip_name("set")) return parse_set(line);
    if (tokens_.skip_name("macro")) return parse_macro(line);
    if (tokens_.skip_name("generation")) {
      Statement statement = make(StatementKind::scope, line);
      // A break or continue cannot leave it: the reference makes a function of it.
      const Inside before = std::exchange(inside_, {.scope = true});
      ML_TRY(statement.body, parse_body({"endgeneration"}));
      inside_ = before;
      return statement;
    }
    for (const bool leave : {true, false}) {
      if (!tokens_.skip_name(leave ? "break" : "continue")) continue;
      if (!inside_.loop) return tokens_.wrong(Status::format, "break or continue outside of a loop");
      ML_CHECK(end_block());
      return make(leave ? StatementKind::leave : StatementKind::next, line);
    }
    ML_TRY(const std::string name, tokens_.expect_name());
    static const std::set<std::string_view> kOthers = {"autoescape", "block",  "call",  "debug",  "do",
                                                       "extends",    "filter", "from",  "import", "include",
                                                       "pluralize",  "raw",    "trans", "with"};
    if (kOthers.contains(name)) return refuse(line, fmt::format("the statement '{}'", name));
    return Error{.status = Status::format,
                 .message = fmt::format("line {}: unknown statement '{}'", line, show_name(name))};
  }

  Result<Statement> parse_if(int line) {
    Statement statement = make(StatementKind::condition, line);
    bool last = false;
    while (true) {
      Branch branch;
      if (!last) {
        ML_TRY(branch.condition, expressions_.parse_tuple(false));
      }
      ML_CHECK(end_block());
      ML_TRY(branch.body, last ? parse_block({"endif"}) : parse_block({"elif", "else", "endif"}));
      statement.branches.push_back(std::move(branch));
      const std::string end = tokens_.take().text;
      if (end == "endif") break;
      last = end == "else";
    }
    ML_CHECK(end_block());
    return statement;
  }

  // `a` or `a, b` or `(a, b)`
  Result<std::vector<std::string>> parse_targets() {
    std::vector<std::string> targets;
    const bool brackets = tokens_.skip_sign("(");
    bool comma = false;
    do {
      ML_TRY(std::string name, tokens_.expect_name());
      static const std::set<std::string_view> kConstants = {"true", "false", "none", "True", "False", "None"};
      if (kConstants.contains(name))
        return tokens_.wrong(Status::format, fmt::format("'{}' is no variable", name));
      if (name == "loop" && n_loops_ > 0) {
        return tokens_.wrong(Status::format, "'loop' may not be set inside of a loop");
      }
      targets.push_back(std::move(name));
      comma = tokens_.skip_sign(",");
    } while (comma && !(brackets && tokens_.at_sign(")")));
    if (comma && targets.size() == 1) {
      return tokens_.wrong(Status::unsupported, "a single variable in brackets with a comma");
    }
    if (brackets) ML_CHECK(tokens_.expect_sign(")"));
    return targets;
  }

  Result<Statement> parse_for(int line) {
    Statement statement = make(StatementKind::loop, line);
    ++n_loops_;
    ML_TRY(statement.targets, parse_targets());
    if (!tokens_.skip_name("in")) return tokens_.unexpected();
    ML_TRY(statement.expression, expressions_.parse_tuple(false));
    if (tokens_.skip_name("if")) {
      ML_TRY(statement.condition, expressions_.parse());
    }
    if (tokens_.at_name("recursive")) return refuse(line, "a recursive for");
    ML_CHECK(end_block());
    const Inside before = std::exchange(inside_, {.loop = true, .scope = true});
    ML_TRY(statement.body, parse_block({"else", "endfor"}));
    inside_ = before;
    if (tokens_.take().text == "else") {
      // Outside of the loop: a break here leaves a loop around it.
      inside_.scope = true;
      ML_TRY(statement.otherwise, parse_body({"endfor"}));
      inside_ = before;
    } else {
      ML_CHECK(end_block());
    }
    --n_loops_;
    return statement;
  }

  Result<Statement> parse_set(int line) {
    Statement statement = make(StatementKind::assignment, line);
    ML_TRY(statement.targets, parse_targets());
    if (statement.targets.size() == 1 && tokens_.skip_sign(".")) {
      ML_TRY(statement.attribute, tokens_.expect_name());
    }
    if (tokens_.skip_sign("=")) {
      ML_TRY(statement.expression, expressions_.parse_tuple());
      ML_CHECK(end_block());
      return statement;
    }
    if (tokens_.at_sign("|")) return refuse(line, "a set block with a filter");
    if (statement.targets.size() != 1) return tokens_.unexpected();
    statement.kind = StatementKind::capture;
    const Inside before = std::exchange(inside_, {.scope = true});
    ML_TRY(statement.body, parse_body({"endset"}));
    inside_ = before;
    return statement;
  }

  Result<Statement> parse_macro(int line) {
    if (inside_.scope) return refuse(line, "a macro inside a loop, macro or block");
    Statement statement = make(StatementKind::macro, line);
    ML_TRY(statement.text, tokens_.expect_name());
    ML_CHECK(tokens_.expect_sign("("));
    while (!tokens_.at_sign(")")) {
      Parameter parameter;
      ML_TRY(parameter.name, tokens_.expect_name());
      if (tokens_.skip_sign("=")) {
        ML_TRY(parameter.otherwise, expressions_.parse());
      } else if (!statement.parameters.empty() && statement.parameters.back().otherwise != nullptr) {
        return tokens_.wrong(Status::format, "a parameter without a default after one that has one");
      }
      statement.parameters.push_back(std::move(parameter));
      if (!tokens_.skip_sign(",")) break;
    }
    ML_CHECK(tokens_.expect_sign(")"));
    inside_ = {.scope = true};
    ML_TRY(statement.body, parse_body({"endmacro"}));
    inside_ = {};
    return statement;
  }

  Error refuse(int line, std::string_view what) const {
    return {.status = Status::unsupported,
            .message = fmt::format("line {}: the template uses {}, which is not known", line, what)};
  }

  // What the statement at hand lies in.
  struct Inside {
    bool loop = false;   ///< break and continue have one to leave
    bool scope = false;  ///< variables of its own
  };

  TokenStream tokens_;
  ExpressionParser expressions_;
  Inside inside_;
  unsigned depth_ = 0;
  unsigned n_loops_ = 0;  ///< for statements around the one at hand, their else included
};

}  // namespace

Result<Template> parse_template(std::string_view source) {
  ML_TRY(const std::vector<Token> tokens, lex(source));
  Template whole;
  ML_TRY(whole.block, Parser(tokens).run());
  find_hidden_names(whole);
  return whole;
}

}  // namespace ml::chat
