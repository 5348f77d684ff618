#pragma once

#include "tokenizer/char_class.hpp"
#include "util/utf8.hpp"

namespace ml::scan {

/// A character under a scanner: its classes and the place after it. At the end of the text: no class at all.
struct Peek {
  char32_t cp;
  std::uint8_t classes;
  const char* next;
};

inline Peek peek(const char* at, const char* end) {
  if (at == end) return {0xFFFFFFFF, 0, at};
  const auto lead = static_cast<unsigned char>(*at);
  if (lead < 0x80) return {lead, kCharClassData[lead], at + 1};
  const char32_t cp = next_char(at);
  return {cp, char_class(cp), at};
}

/// @return the first place whose character has none of the classes
inline const char* skip(const char* at, const char* end, unsigned classes) {
  while (at != end) {
    const Peek c = peek(at, end);
    if ((c.classes & classes) == 0) break;
    at = c.next;
  }
  return at;
}

/// @return the first place whose character has one of the classes
inline const char* skip_without(const char* at, const char* end, unsigned classes) {
  while (at != end) {
    const Peek c = peek(at, end);
    if ((c.classes & classes) != 0) break;
    at = c.next;
  }
  return at;
}

inline const char* skip_newlines(const char* at, const char* end) {
  while (at != end && (*at == '\r' || *at == '\n')) ++at;
  return at;
}

inline bool is_newline(char32_t cp) { return cp == '\r' || cp == '\n'; }

/// Up to `limit` numbers.
inline const char* skip_numbers(const char* at, const char* end, int limit) {
  for (; limit > 0; --limit) {
    const Peek c = peek(at, end);
    if ((c.classes & kNumber) == 0) break;
    at = c.next;
  }
  return at;
}

/// 's 't 're 've 'm 'll 'd after an apostrophe at `at`; any case where kAnyCase.
/// @return the end of the contraction, or null
template <bool kAnyCase>
const char* contraction(const char* at, const char* end) {
  if (end - at < 2 || *at != '\'') return nullptr;
  const auto is = [](char c, char letter) { return c == letter || (kAnyCase && c == letter - 'a' + 'A'); };
  const char c = at[1];
  if (is(c, 's') || is(c, 't') || is(c, 'm') || is(c, 'd')) return at + 2;
  if (end - at < 3) return nullptr;
  if ((is(c, 'r') && is(at[2], 'e')) || (is(c, 'v') && is(at[2], 'e')) || (is(c, 'l') && is(at[2], 'l'))) {
    return at + 3;
  }
  // U+017F, the long s, is the one other character that folds to a letter of these.
  if (kAnyCase && c == '\xC5' && at[2] == '\xBF') return at + 3;
  return nullptr;
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+` (without the first part unless kNewlines), at a space.
template <bool kNewlines>
const char* spaces(const char* at, const char* end) {
  const char* after_newline = nullptr;
  const char* last = at;
  const char* here = at;
  while (here != end) {
    const Peek c = peek(here, end);
    if ((c.classes & kSpace) == 0) break;
    if (kNewlines && is_newline(c.cp)) after_newline = c.next;
    last = here;
    here = c.next;
  }
  if (after_newline != nullptr) return after_newline;
  // The last space before a word goes with the word, unless it is the only one.
  return here == end || last == at ? here : last;
}

}  // namespace ml::scan
