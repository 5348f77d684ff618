#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ml {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// One step over a sequence of bytes: a well-formed character, or the maximal invalid part (Unicode 16, 3.9,
/// "substitution of maximal subparts").
struct Utf8Step {
  unsigned n_bytes = 0;  ///< at least 1
  bool valid = false;
  bool cut = false;  ///< invalid only because the bytes end: more of them could make a character
};

/// Looks at the first character of `bytes`, which must not be empty.
Utf8Step step_utf8(std::string_view bytes);

/// @return the offset of the first byte that is not UTF-8
std::optional<std::size_t> find_invalid_utf8_byte(std::string_view bytes);

/// @return the last place up to `at` where a character begins, so that a cut there leaves whole ones
inline std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

/// Leaps over blocks of ASCII. @return a place at or after `at`, with nothing but ASCII before it
const char* skip_ascii(const char* at, const char* end);

/// Appends `bytes` with U+FFFD for each maximal invalid part.
void append_lossy_utf8(std::string& out, std::string_view bytes);

void append_utf8(std::string& out, char32_t cp);

/// Decodes the character at `at` of well-formed UTF-8 and moves `at` past it.
inline char32_t next_char(const char*& at) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    at += 1;
    return lead;
  }
  if (lead < 0xE0) {
    const char32_t cp = (lead & 0x1F) << 6 | (byte(1) & 0x3Fu);
    at += 2;
    return cp;
  }
  if (lead < 0xF0) {
    const char32_t cp = (lead & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    at += 3;
    return cp;
  }
  const char32_t cp =
      (lead & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  at += 4;
  return cp;
}

}  // namespace ml
