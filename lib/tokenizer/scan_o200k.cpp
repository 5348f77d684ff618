#include "tokenizer/scanners.hpp"

#include "tokenizer/scan.hpp"

namespace ml {

using namespace scan;

namespace {

// U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W = [\p{Ll}\p{Lm}\p{Lo}\p{M}]; both hold \p{Lm}, \p{Lo} and \p{M}.
bool in_u(std::uint8_t classes) { return (classes & kMark) || ((classes & kLetter) && !(classes & kLower)); }
bool in_w(std::uint8_t classes) { return (classes & kMark) || ((classes & kLetter) && !(classes & kUpper)); }

const char* skip_w(const char* at, const char* end) {
  for (Peek c = peek(at, end); in_w(c.classes); c = peek(at, end)) at = c.next;
  return at;
}

// U*W+, or where that fails U+W*. Where no W follows the run of U, the run gives characters back until one of
// them is in W: the last such one ends the match.
// @return the end, or null where no letter or mark begins here
const char* word(const char* at, const char* end) {
  const char* u_end = at;
  const char* after_last_w = nullptr;
  for (Peek c = peek(u_end, end); in_u(c.classes); c = peek(u_end, end)) {
    u_end = c.next;
    if (in_w(c.classes)) after_last_w = c.next;
  }
  const char* const w_end = skip_w(u_end, end);
  if (w_end != u_end) return w_end;
  if (after_last_w != nullptr) return after_last_w;
  return u_end != at ? u_end : nullptr;
}

// The two alternatives differ in what they try first only: the first one wins with or without the leading
// character before the second one is tried.
bool ends_in_w_form(const char* at, const char* end) {
  const char* here = at;
  for (Peek c = peek(here, end); in_u(c.classes); c = peek(here, end)) {
    if (in_w(c.classes)) return true;
    here = c.next;
  }
  return in_w(peek(here, end).classes);
}

const char* with_contraction(const char* word_end, const char* end) {
  const char* after = contraction<true>(word_end, end);
  return after != nullptr ? after : word_end;
}

}  // namespace

// [^\r\n\p{L}\p{N}]?U*W+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+W*(?i:...)?|\p{N}{1,3}|
// ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
const char* scan_o200k(const char* at, const char* end) {
  const Peek c = peek(at, end);
  if (c.classes & kNumber) return skip_numbers(at, end, 3);
  const bool leads = !is_newline(c.cp) && (c.classes & kLetter) == 0;
  if (leads && ends_in_w_form(c.next, end)) return with_contraction(word(c.next, end), end);
  if (ends_in_w_form(at, end)) return with_contraction(word(at, end), end);
  const char* after = leads ? word(c.next, end) : nullptr;
  if (after == nullptr) after = word(at, end);
  if (after != nullptr) return with_contraction(after, end);

  constexpr unsigned kNotOther = kLetter | kNumber | kSpace;
  const Peek other = c.cp == ' ' ? peek(c.next, end) : c;
  if ((other.classes & kNotOther) == 0 && (c.cp != ' ' || c.next != end)) {
    const char* here = skip_without(other.next, end, kNotOther);
    while (here != end && (is_newline(static_cast<unsigned char>(*here)) || *here == '/')) ++here;
    return here;
  }
  return spaces<true>(at, end);
}

}  // namespace ml
