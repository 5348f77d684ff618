#include "chat/lexer.hpp"

#include "chat/literals.hpp"
#include "chat/text.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml::chat {

namespace {

// Names are looked up step by step: a long one would make a step of the template a long one.
constexpr std::size_t kMaxName = 255;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Line ends become \n, and the last one goes.
std::string one_kind_of_line(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      put_text(tag);
      if (tag == source_.size()) break;
      ML_CHECK(take_tag());
    }
    tokens_.push_back({.kind = TokenKind::end, .line = line_});
    return std::move(tokens_);
  }

 private:
  Error wrong(Status status, std::string message) const {
    return {.status = status, .message = fmt::format("line {}: {}", line_, message)};
  }

  bool looking_at(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  void advance(std::size_t n) {
    line_ += static_cast<int>(std::count(source_.begin() + at_, source_.begin() + at_ + n, '\n'));
    at_ += n;
  }

  std::size_t next_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i) {
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    }
    return source_.size();
  }

  // The text before a tag, less what the tag takes away on its left.
  void put_text(std::size_t tag) {
    std::string_view text = source_.substr(at_, tag - at_);
    if (tag < source_.size()) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      if (sign == '-') {
        text = strip(text, Side::right);
      } else if (sign != '+' && source_[tag + 1] != '{') {
        const std::size_t newline = text.rfind('\n');
        const bool whole_line = newline != std::string_view::npos || at_line_start_;
        const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
        if (whole_line && strip(text.substr(start), Side::both).empty()) text = text.substr(0, start);
      }
    }
    if (!text.empty()) tokens_.push_back({.kind = TokenKind::text, .line = line_, .text = std::string(text)});
    advance(tag - at_);
  }

  Result<void> take_tag() {
    const char kind = source_[at_ + 1];
    const int first_line = line_;
    advance(2);
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) advance(1);
    if (kind == '#') return take_comment(first_line);
    tokens_.push_back({.kind = kind == '{' ? TokenKind::print_begin : TokenKind::block_begin, .line = line_});
    return take_code(kind == '{');
  }

  Result<void> take_comment(int first_line) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) {
      return Error{.status = Status::format,
                   .message = fmt::format("line {}: a comment does not end", first_line)};
    }
    const char sign = end > at_ ? source_[end - 1] : ' ';
    advance(end - at_ + 2);
    finish_tag(sign, true);
    return {};
  }

  // What a tag's end takes away on its right.
  void finish_tag(char sign, bool trims) {
    const std::size_t start = at_;
    if (sign == '-') {
      const std::string_view rest = source_.substr(at_);
      advance(rest.size() - strip(rest, Side::left).size());
    } else if (sign != '+' && trims && looking_at("\n")) {
      advance(1);
    }
    at_line_start_ = at_ > start && source_[at_ - 1] == '\n';
  }

  bool take_end(bool print) {
    const std::string_view close = print ? "}}" : "%}";
    char sign = ' ';
    std::size_t n = 0;
    if (at_ + 2 < source_.size() && (source_[at_] == '-' || (source_[at_] == '+' && !print)) &&
        source_.substr(at_ + 1, 2) == close) {
      sign = source_[at_];
      n = 3;
    } else if (looking_at(close)) {
      n = 2;
    } else {
      return false;
    }
    tokens_.push_back({.kind = print ? TokenKind::print_end : TokenKind::block_end, .line = line_});
    advance(n);
    finish_tag(sign, !print);
    return true;
  }

  Result<void> take_code(bool print) {
    const int first_line = line_;
    std::vector<char> open;
    while (true) {
      const std::string_view rest = source_.substr(at_);
      advance(rest.size() - strip(rest, Side::left).size());
      if (at_ >= source_.size()) {
        line_ = first_line;
        return wrong(Status::format, "a tag does not end");
      }
      if (open.empty() && take_end(print)) return {};
      const char c = source_[at_];
      if (is_name_start(c)) {
        ML_CHECK(take_name());
      } else if (is_digit(c)) {
        ML_CHECK(take_number());
      } else if (c == '\'' || c == '"') {
        ML_CHECK(take_string());
      } else {
        ML_CHECK(take_sign(open));
      }
    }
  }

  Result<void> take_name() {
    std::size_t n = 1;
    while (at_ + n < source_.size() && (is_name_start(source_[at_ + n]) || is_digit(source_[at_ + n]))) ++n;
    if (n > kMaxName) return wrong(Status::limit, fmt::format("a name of over {} characters", kMaxName));
    tokens_.push_back({.kind = TokenKind::name, .line = line_, .text = std::string(source_.substr(at_, n))});
    advance(n);
    return {};
  }

  Result<void> take_number() {
    const bool after_dot =
        !tokens_.empty() && tokens_.back().kind == TokenKind::sign && tokens_.back().text == ".";
    Token token{.line = line_};
    ML_TRY(const std::size_t n, read_number(source_.substr(at_), after_dot, line_, token));
    tokens_.push_back(std::move(token));
    advance(n);
    return {};
  }

  Result<void> take_string() {
    const char quote = source_[at_];
    std::size_t n = 1;
    while (at_ + n < source_.size() && source_[at_ + n] != quote) n += source_[at_ + n] == '\\' ? 2 : 1;
    if (at_ + n >= source_.size()) return wrong(Status::format, "a string does not end");
    ML_TRY(std::string value, read_string(source_.substr(at_ + 1, n - 1), line_));
    tokens_.push_back({.kind = TokenKind::string, .line = line_, .text = std::move(value)});
    advance(n + 1);
    return {};
  }

  Result<void> take_sign(std::vector<char>& open) {
    static constexpr std::string_view kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                  "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                  ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto* sign =
        std::find_if(std::begin(kSigns), std::end(kSigns), [&](auto one) { return looking_at(one); });
    if (sign == std::end(kSigns)) {
      return wrong(Status::format,
                   fmt::format("unexpected '{}' in a tag", show_name(source_.substr(at_, 1))));
    }
    const char c = sign->front();
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return wrong(Status::format, fmt::format("unexpected '{}'", c));
      open.pop_back();
    }
    tokens_.push_back({.kind = TokenKind::sign, .line = line_, .text = std::string(*sign)});
    advance(sign->size());
    return {};
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view source) {
  if (const auto offset = find_invalid_utf8_byte(source)) {
    return Error{.status = Status::format, .message = "the template is not UTF-8", .offset = *offset};
  }
  const std::string lines = one_kind_of_line(source);
  return Lexer(lines).run();
}

}  // namespace ml::chat
