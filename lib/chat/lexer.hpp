#pragma once

// A template's source as tokens. Between tags there is text, with the white space gone that '-' and the
// options trim_blocks and lstrip_blocks take away; in tags there are names, literals and signs.

#include <ml/status.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ml::chat {

enum class TokenKind : std::uint8_t {
  text,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  sign,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  int line = 1;
  std::string text = {};  ///< the text, name or sign; a string's value
  std::int64_t integer = 0;
  double real = 0;
};

/// @error format       the source is no template
/// @error unsupported  raw blocks, \N escapes
Result<std::vector<Token>> lex(std::string_view source);

}  // namespace ml::chat
