#include "tokenizer/pre_tokenizer.hpp"

#include "formats/mlt.hpp"
#include "tokenizer/scan.hpp"
#include "tokenizer/scanners.hpp"

namespace ml {

const char* scan_digits_stretch(const char* at, const char* end) {
  const scan::Peek c = scan::peek(at, end);
  if (c.classes & kNumeric) return c.next;
  return scan::skip_without(c.next, end, kNumeric);
}

PreTokenizer pre_tokenizer_for(std::uint32_t flags) {
  const bool split = (flags & kMltSplitDigits) != 0;
  const Scan stretch = split ? scan_digits_stretch : nullptr;
  if (flags & kMltGpt2) return {stretch, scan_gpt2, split ? spans::kGpt2SplitDigits : spans::kGpt2};
  if (flags & kMltO200k) return {stretch, scan_o200k, split ? spans::kPatterns : spans::kO200k};
  if (flags & kMltDeepSeek) return {scan_deepseek_stretch, scan_deepseek, spans::kDeepSeek};
  const bool single = (flags & kMltSingleDigits) != 0;
  const spans::Pattern numbers = single ? spans::kLlama3Single : spans::kLlama3;
  const spans::Pattern ascii = split ? spans::kLlama3SplitDigits : numbers;
  if (flags & kMltMarks) return {stretch, single ? scan_llama3<true, 1> : scan_llama3<true, 3>, ascii};
  return {stretch, single ? scan_llama3<false, 1> : scan_llama3<false, 3>, ascii};
}

spans::Find ascii_spans_for(spans::Pattern pattern, [[maybe_unused]] Target target) {
  if (pattern == spans::kPatterns) return nullptr;
#if defined(__x86_64__)
  if (target == Target::best) {
    static const Target fastest = available_targets().back();
    target = fastest;
  }
  if (target == Target::avx512) return spans::avx512_table.find[pattern];
  if (target == Target::avx2 || target == Target::avxvnni) return spans::avx2_table.find[pattern];
#endif
  return nullptr;
}

}  // namespace ml
