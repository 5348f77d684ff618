#include "tokenizer/scanners.hpp"

#include "tokenizer/scan.hpp"

namespace ml {

using namespace scan;

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const char* scan_gpt2(const char* at, const char* end) {
  const Peek c = peek(at, end);
  if (c.cp == '\'') {
    if (const char* after = contraction<false>(at, end)) return after;
  }
  const Peek word = c.cp == ' ' ? peek(c.next, end) : c;
  if (word.classes & kLetter) return skip(word.next, end, kLetter);
  if (word.classes & kNumber) return skip(word.next, end, kNumber);
  const bool other = (word.classes & kSpace) == 0 && (c.cp != ' ' || c.next != end);
  if (other) return skip_without(word.next, end, kLetter | kNumber | kSpace);
  return spaces<false>(at, end);
}

}  // namespace ml
