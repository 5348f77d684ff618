#include "chat/literals.hpp"

#include "util/number_from_chars.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace ml::chat {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error wrong(Status status, int line, std::string message) {
  return {.status = status, .message = fmt::format("line {}: {}", line, message)};
}

std::optional<char> simple_escape(char c) {
  switch (c) {
    case '\\': return '\\';
    case '\'': return '\'';
    case '"': return '"';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return {};
  }
}

// Octal and hexadecimal escapes: how many digits follow, and of which base.
struct CodeEscape {
  std::size_t min = 0;
  std::size_t max = 0;
  int base = 16;
};

CodeEscape code_escape(char c) {
  switch (c) {
    case 'x': return {2, 2, 16};
    case 'u': return {4, 4, 16};
    case 'U': return {8, 8, 16};
    default: return {};
  }
}

}  // namespace

Result<std::string> read_string(std::string_view inside, int line) {
  std::string out;
  while (!inside.empty()) {
    const char c = inside.front();
    inside.remove_prefix(1);
    if (c != '\\') {
      out += c;
      continue;
    }
    const char kind = inside.front();
    if (const auto simple = simple_escape(kind)) {
      out += *simple;
      inside.remove_prefix(1);
      continue;
    }
    if (kind == '\n') {
      inside.remove_prefix(1);
      continue;
    }
    if (static_cast<unsigned char>(kind) >= 0x80) {
      return wrong(Status::unsupported, line, "a backslash before a character beyond ASCII in a string");
    }
    if (kind == 'N') return wrong(Status::unsupported, line, "an escape \\N{...} in a string");
    CodeEscape code = code_escape(kind);
    if (kind >= '0' && kind <= '7') {
      code = {1, 3, 8};
    } else if (code.max > 0) {
      inside.remove_prefix(1);
    } else {
      out += c;  // an unknown escape stays as it is
      continue;
    }
    std::uint32_t cp = 0;
    const auto [end, failure] =
        std::from_chars(inside.data(), inside.data() + std::min(code.max, inside.size()), cp, code.base);
    const auto n = static_cast<std::size_t>(end - inside.data());
    if (failure != std::errc() || n < code.min || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000)) {
      return wrong(Status::format, line, "an escape in a string is no character");
    }
    append_utf8(out, cp);
    inside.remove_prefix(n);
  }
  return out;
}

Result<std::size_t> read_number(std::string_view text, bool after_dot, int line, Token& token) {
  const auto digits = [&](std::size_t from) {
    std::size_t n = from;
    while (n < text.size() && is_digit(text[n])) ++n;
    return n;
  };
  std::size_t end = digits(0);
  bool real = false;
  if (!after_dot && end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    real = true;
    end = digits(end + 1);
  }
  if (!after_dot && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (digits(exponent) > exponent) {
      real = true;
      end = digits(exponent);
    }
  }
  const char next = end < text.size() ? text[end] : ' ';
  if (next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
      (!real && !after_dot && end > 1 && text[0] == '0')) {
    return wrong(Status::unsupported, line, fmt::format("the number {}", text.substr(0, end + 1)));
  }
  token.kind = real ? TokenKind::real : TokenKind::integer;
  const char* const last = text.data() + end;
  const std::errc failure = real ? number_from_chars(text.data(), last, token.real).ec
                                 : std::from_chars(text.data(), last, token.integer).ec;
  if (failure != std::errc()) {
    return wrong(Status::limit, line, fmt::format("the number {} is too large", text.substr(0, end)));
  }
  return end;
}

}  // namespace ml::chat
