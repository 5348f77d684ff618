#pragma once

#include "tokenizer/unicode_tables.hpp"

namespace ml {

/// What a pre-tokenizer asks about a character; bits of one byte. The sets are those of the engine that the
/// `tokenizers` library uses (Unicode 16), so a current Unicode library would differ on some characters.
enum CharClass : std::uint8_t {
  kLetter = 1,    // \p{L}
  kNumber = 2,    // \p{N}
  kSpace = 4,     // \s
  kMark = 8,      // \p{M}
  kNumeric = 16,  // what the Digits pre-tokenizer cuts out: \p{N} of Unicode 17
  kUpper = 32,    // \p{Lu} and \p{Lt}
  kLower = 64,    // \p{Ll}
  kSymbol = 128,  // \p{P} and \p{S}
};

inline std::uint8_t char_class(char32_t cp) { return two_stage_value(kCharClassIndex, kCharClassData, cp); }

}  // namespace ml
