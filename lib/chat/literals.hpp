#pragma once

#include "chat/lexer.hpp"

namespace ml::chat {

/// The value of a string literal, from what stands between its quotes.
///
/// @error format       an escape that is no character
/// @error unsupported  \N{...}
Result<std::string> read_string(std::string_view inside, int line);

/// Reads the number at the start of `text` into the token; after a dot there are only integers ("a.0.1").
///
/// @return its bytes
/// @error format, limit, unsupported
Result<std::size_t> read_number(std::string_view text, bool after_dot, int line, Token& token);

}  // namespace ml::chat
