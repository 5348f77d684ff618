#pragma once

// The pre-tokenizers of mlt(5) over the masks of a Block, which the including file has defined.
//
// A block begins where a piece begins, so nothing is carried from one block to the next: what a block says
// about a byte depends on the bytes of the block alone. Bit i of `starts` means that a piece begins at byte
// i. It depends on no byte after i + 1, except where said below; the last piece of a block ends unknown and
// begins the next block.

#include "tokenizer/ascii_spans.hpp"

namespace ml::spans {
namespace {

using Mask = std::uint64_t;

inline unsigned lowest(Mask mask) { return static_cast<unsigned>(__builtin_ctzll(mask)); }
inline Mask bit(unsigned i) { return Mask(1) << i; }
inline Mask below(unsigned n) { return n >= 64 ? ~Mask(0) : bit(n) - 1; }
/// No piece begins in [first, next), one does at `next`.
inline Mask cut_at(Mask starts, unsigned first, unsigned next) {
  const Mask begun = next >= 64 ? 0 : bit(next);
  return (starts & ~(below(next) & ~below(first))) | begun;
}

inline char lower(char c) { return static_cast<char>(c | 0x20); }

/// @return the length of the contraction at the apostrophe `at`, or 0. Three bytes are there.
template <bool kAnyCase>
unsigned contraction_length(const char* at) {
  const char a = kAnyCase ? lower(at[1]) : at[1];
  const char b = kAnyCase ? lower(at[2]) : at[2];
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

struct Classes {
  Mask letters, numbers, spaces, blanks, others;

  Classes(const Block& block, Mask valid)
      : letters(block.in_range('a', 25, 0x20) & valid),
        numbers(block.in_range('0', 9) & valid),
        blanks(block.equal(' ') & valid) {
    spaces = (blanks | block.in_range('\t', 4)) & valid;
    others = valid & ~(letters | numbers | spaces);
  }
};

/// Where an apostrophe follows that begins a contraction: candidates are looked at one by one, they are rare.
template <bool kAnyCase>
Mask cut_contractions(const char* text, Mask quotes, const Classes& c, unsigned n, Mask starts) {
  for (Mask left = quotes & starts & c.letters >> 1 & below(n - 2); left != 0; left &= left - 1) {
    const unsigned at = lowest(left);
    const unsigned length = contraction_length<kAnyCase>(text + at);
    if (length != 0) starts = cut_at(starts, at + 1, at + length);
  }
  return starts;
}

/// `\s+(?!\S)|\s+`: all but the last space of a run, then the last one. Where the text is cut before numbers
/// the run before one ends a text and stays whole.
template <bool kSplitDigits>
Mask last_spaces(Mask spaces, const Classes& c) {
  const Mask next = kSplitDigits ? c.spaces | c.numbers : c.spaces;
  return spaces & ~(next >> 1);
}

template <bool kSplitDigits>
Mask gpt2_starts(const Block& block, const char* text, const Classes& c, unsigned n) {
  const Mask numbers = kSplitDigits ? 0 : c.numbers & c.numbers << 1;
  const Mask inside = (c.letters & c.letters << 1) | numbers | (c.others & c.others << 1);
  const Mask after_blank = kSplitDigits ? c.blanks << 1 & ~c.numbers : c.blanks << 1;
  const Mask spaces = c.spaces & (~(c.spaces << 1) | last_spaces<kSplitDigits>(c.spaces, c));
  const Mask starts = (~c.spaces & ~(inside | after_blank)) | spaces;
  return cut_contractions<false>(text, block.equal('\''), c, n, starts);
}

/// Spaces as all patterns but GPT-2's cut them, `\s*[\r\n]+|\s+(?!\S)|\s+`, and [\r\n]* behind others.
struct Spaces {
  Mask starts;
  Mask inline_spaces;  // all but \r and \n: what may lead a word

  template <bool kSplitDigits>
  static Spaces cut(const Block& block, const Classes& c, unsigned n) {
    const Mask newlines = (block.equal('\n') | block.equal('\r')) & c.spaces;
    // A newline behind others carries through its run of newlines: those belong to the others.
    const Mask joined = newlines & ~(newlines + (c.others << 1 & newlines));
    const Mask spaces = c.spaces & ~joined;
    const Mask not_newline = c.spaces & ~newlines;
    const Mask run_starts = spaces & ~(spaces << 1);
    // What lies behind the last newline of a run begins with a piece. Where another newline follows (or the
    // block ends, and one may) it does not.
    Mask after_newline = not_newline & (newlines & ~joined) << 1;
    if (after_newline != 0) {
      const Mask followed = not_newline & (newlines >> 1 | bit(n - 1));
      for (Mask left = followed; left != 0; left &= left - 1) {
        const unsigned last = lowest(left);
        const Mask gaps = ~not_newline & below(last);
        const unsigned first = gaps == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(gaps));
        after_newline &= ~bit(first);
      }
    }
    return {run_starts | after_newline | last_spaces<kSplitDigits>(not_newline, c), not_newline};
  }
};

/// `\p{N}{1,3}`, or each number alone.
template <bool kGroups>
Mask number_starts(Mask numbers) {
  if (!kGroups) return numbers;
  const Mask four = numbers & numbers << 1 & numbers << 2 & numbers << 3;
  Mask starts = numbers & ~(numbers << 1);
  if (four == 0) return starts;
  for (Mask next = starts << 3 & four; next != 0; next = next << 3 & four) starts |= next;
  return starts;
}

/// One character that may lead a word: an inline space, or the only one of a run of others (which, behind a
/// blank, goes with the blank).
inline Mask word_leads(const Classes& c, Mask inline_spaces) {
  return inline_spaces | (c.others & ~((c.others | c.blanks) << 1));
}

template <bool kGroups, bool kSplitDigits, bool kContractions>
Mask llama3_starts(const Block& block, const char* text, const Classes& c, unsigned n) {
  const Spaces spaces = Spaces::cut<kSplitDigits>(block, c, n);
  const Mask letters = c.letters & ~((c.letters | word_leads(c, spaces.inline_spaces)) << 1);
  const Mask others = c.others & ~((c.others | c.blanks) << 1);
  const Mask starts = spaces.starts | letters | others | number_starts<kGroups>(c.numbers);
  if (!kContractions) return starts;
  return cut_contractions<true>(text, block.equal('\''), c, n, starts);
}

/// A contraction ends the word before it.
inline Mask join_contractions(const char* text, Mask quotes, const Classes& c, unsigned n, Mask starts) {
  unsigned previous = 0;  // the end of the last contraction: a word of its own begins there
  for (Mask left = quotes & c.letters << 1 & c.letters >> 1 & below(n - 2); left != 0; left &= left - 1) {
    const unsigned at = lowest(left);
    const unsigned length = at == previous ? 0 : contraction_length<true>(text + at);
    if (length == 0) continue;
    previous = at + length;
    starts = cut_at(starts, at, previous);
  }
  // The last apostrophe that counts could begin one that the block does not show.
  return starts & ~(quotes & bit(n - 2));
}

inline Mask o200k_starts(const Block& block, const char* text, const Classes& c, unsigned n) {
  const Spaces spaces = Spaces::cut<false>(block, c, n);
  const Mask upper = block.in_range('A', 25) & c.letters;
  const Mask inside = c.letters << 1 & ~(upper & (c.letters & ~upper) << 1);
  const Mask letters = c.letters & ~(inside | word_leads(c, spaces.inline_spaces) << 1);
  const Mask others = c.others & ~((c.others | c.blanks) << 1);
  const Mask starts = spaces.starts | letters | others | number_starts<true>(c.numbers);
  return join_contractions(text, block.equal('\''), c, n, starts);
}

/// Bytes from which on a block does not say what the pattern does.
template <Pattern kPattern>
Mask unknown_bytes(const Block& block) {
  const Mask unknown = block.not_ascii();
  if (kPattern == kO200k) return unknown | (block.equal('/') & (block.equal('\n') | block.equal('\r')) << 1);
  // DeepSeek's pattern knows no control characters.
  if (kPattern == kDeepSeek) {
    return unknown | block.equal(0x7F) | (block.in_range(0, 31) & ~block.in_range('\t', 4));
  }
  return unknown;
}

template <Pattern kPattern>
Mask starts_of(const Block& block, const char* text, const Classes& c, unsigned n) {
  switch (kPattern) {
    case kGpt2: return gpt2_starts<false>(block, text, c, n);
    case kGpt2SplitDigits: return gpt2_starts<true>(block, text, c, n);
    case kLlama3: return llama3_starts<true, false, true>(block, text, c, n);
    case kLlama3Single: return llama3_starts<false, false, true>(block, text, c, n);
    case kLlama3SplitDigits: return llama3_starts<false, true, true>(block, text, c, n);
    case kO200k: return o200k_starts(block, text, c, n);
    case kDeepSeek: return llama3_starts<true, true, false>(block, text, c, n);
    case kPatterns: break;
  }
  return 0;
}

template <Pattern kPattern>
std::size_t find(const char* text, std::size_t n_bytes, std::uint32_t base, std::uint32_t* ends,
                 std::size_t capacity, std::size_t* n_ends) {
  std::size_t at = 0;
  std::uint32_t* out = ends + *n_ends;
  std::uint32_t* const full = ends + capacity;
  while (n_bytes - at >= 64 && full - out >= 64) {
    const Block block(text + at);
    const Mask unknown = unknown_bytes<kPattern>(block);
    const unsigned n = unknown == 0 ? 64 : lowest(unknown);
    if (n < 8) break;  // a scanner is faster
    const Classes classes(block, below(n));
    Mask starts = starts_of<kPattern>(block, text + at, classes, n) & below(n - 1) & ~Mask(1);
    if (starts == 0) break;
    const auto from = static_cast<std::uint32_t>(base + at);
    unsigned last = 0;
    for (; starts != 0; starts &= starts - 1) *out++ = from + (last = lowest(starts));
    at += last;
  }
  *n_ends = static_cast<std::size_t>(out - ends);
  return at;
}

constexpr Table kFinders = {{find<kGpt2>, find<kGpt2SplitDigits>, find<kLlama3>, find<kLlama3Single>,
                             find<kLlama3SplitDigits>, find<kO200k>, find<kDeepSeek>}};

}  // namespace
}  // namespace ml::spans
