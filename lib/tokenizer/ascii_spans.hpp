#pragma once

// The pre-tokenizers for runs of ASCII text, 64 bytes at a time with bit masks. A shortcut of the scanners of
// PreTokenizer: it leaves to them whatever it cannot decide, and never finds other pieces than they do.
// Included by files for one instruction set: nothing of the standard library that could be instantiated here.

#include <cstddef>
#include <cstdint>

namespace ml::spans {

/// Finds the pieces that begin at `text`, which begins one.
///
/// @param n_bytes   of the text
/// @param ends      receives the end of each piece, as an offset from `text` plus `base`
/// @param capacity  room of `ends`; it stops where fewer than 64 places are left
/// @param n_ends    in: pieces in `ends`; out: with those that were found
/// @return          the end of the last piece found; 0 where a scanner must find the first
using Find = std::size_t (*)(const char* text, std::size_t n_bytes, std::uint32_t base, std::uint32_t* ends,
                             std::size_t capacity, std::size_t* n_ends);

enum Pattern : std::size_t {
  kGpt2,
  kGpt2SplitDigits,
  kLlama3,             // numbers in groups of three
  kLlama3Single,       // each number alone
  kLlama3SplitDigits,  // numbers cut out first
  kO200k,
  kDeepSeek,
  kPatterns
};

struct Table {
  Find find[kPatterns];
};

#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avx512_table;
#endif

}  // namespace ml::spans
