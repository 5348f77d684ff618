#pragma once

namespace ml {

// The scanners of PreTokenizer: one for each pattern of mlt(5), PRE-TOKENIZERS.

const char* scan_gpt2(const char* at, const char* end);

/// Marks join letters where kMarks; numbers come in groups of up to kDigits.
template <bool kMarks, int kDigits>
const char* scan_llama3(const char* at, const char* end);

const char* scan_o200k(const char* at, const char* end);

const char* scan_deepseek(const char* at, const char* end);
/// Groups of up to three numbers, runs of kana and common Han, and what lies between.
const char* scan_deepseek_stretch(const char* at, const char* end);

/// One numeric character, or all up to the next one.
const char* scan_digits_stretch(const char* at, const char* end);

}  // namespace ml
