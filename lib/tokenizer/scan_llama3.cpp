#include "tokenizer/scanners.hpp"

#include "tokenizer/scan.hpp"

namespace ml {

using namespace scan;

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
// \s+(?!\S)|\s+
// With kMarks [\p{L}\p{M}] stands for \p{L}, except in the class before the letters. A mark may then be both
// that first character and a letter, and either way the piece is the whole run.
template <bool kMarks, int kDigits>
const char* scan_llama3(const char* at, const char* end) {
  constexpr unsigned kWord = kMarks ? kLetter | kMark : kLetter;
  const Peek c = peek(at, end);
  if (c.classes & kWord) return skip(c.next, end, kWord);
  if (c.classes & kNumber) return skip_numbers(at, end, kDigits);
  if (c.cp == '\'') {
    if (const char* after = contraction<true>(at, end)) return after;
  }
  if (is_newline(c.cp)) return spaces<true>(at, end);
  const Peek second = peek(c.next, end);
  if (second.classes & kWord) return skip(second.next, end, kWord);
  constexpr unsigned kNotOther = kWord | kNumber | kSpace;
  if ((c.classes & kSpace) == 0) return skip_newlines(skip_without(c.next, end, kNotOther), end);
  const bool space_and_other = c.cp == ' ' && c.next != end && (second.classes & kNotOther) == 0;
  if (space_and_other) return skip_newlines(skip_without(second.next, end, kNotOther), end);
  return spaces<true>(at, end);
}

template const char* scan_llama3<false, 3>(const char*, const char*);
template const char* scan_llama3<false, 1>(const char*, const char*);
template const char* scan_llama3<true, 3>(const char*, const char*);
template const char* scan_llama3<true, 1>(const char*, const char*);

}  // namespace ml
