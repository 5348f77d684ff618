#include "tokenizer/scanners.hpp"

#include "tokenizer/scan.hpp"

namespace ml {

using namespace scan;

namespace {

// [一-龥぀-ゟ゠-ヿ]
bool is_cjk(char32_t cp) { return (cp >= 0x4E00 && cp <= 0x9FA5) || (cp >= 0x3040 && cp <= 0x30FF); }

bool is_ascii_letter(char32_t cp) { return (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z'; }

const char* skip_ascii_letters(const char* at, const char* end) {
  while (at != end && is_ascii_letter(static_cast<unsigned char>(*at))) ++at;
  return at;
}

// [!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// where the first class stands for ASCII punctuation.
// @return the end of the match at `at`, or null where there is none
const char* match(const char* at, const char* end) {
  const Peek c = peek(at, end);
  const Peek second = peek(c.next, end);
  if (c.cp < 0x80 && (c.classes & kSymbol) && is_ascii_letter(second.cp))
    return skip_ascii_letters(c.next, end);
  constexpr unsigned kWord = kLetter | kMark;
  if (c.classes & kWord) return skip(c.next, end, kWord);
  const bool leads = !is_newline(c.cp) && (c.classes & kSymbol) == 0;
  if (leads && (second.classes & kWord)) return skip(second.next, end, kWord);
  if (c.classes & kSymbol) return skip_newlines(skip(c.next, end, kSymbol), end);
  if (c.cp == ' ' && (second.classes & kSymbol)) return skip_newlines(skip(second.next, end, kSymbol), end);
  if (c.classes & kSpace) return spaces<true>(at, end);
  return nullptr;
}

}  // namespace

const char* scan_deepseek(const char* at, const char* end) {
  if (const char* after = match(at, end)) return after;
  // Characters that no part of the pattern takes make a piece up to the next match.
  do {
    at = peek(at, end).next;
  } while (at != end && match(at, end) == nullptr);
  return at;
}

const char* scan_deepseek_stretch(const char* at, const char* end) {
  Peek c = peek(at, end);
  if (c.classes & kNumber) return skip_numbers(at, end, 3);
  const bool cjk = is_cjk(c.cp);
  do {
    at = c.next;
    c = peek(at, end);
  } while (at != end && (c.classes & kNumber) == 0 && is_cjk(c.cp) == cjk);
  return at;
}

}  // namespace ml
