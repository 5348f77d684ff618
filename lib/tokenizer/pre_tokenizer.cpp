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
  const Scan stretch = flags & kMltSplitDigits ? scan_digits_stretch : nullptr;
  if (flags & kMltGpt2) return {stretch, scan_gpt2};
  if (flags & kMltO200k) return {stretch, scan_o200k};
  if (flags & kMltDeepSeek) return {scan_deepseek_stretch, scan_deepseek};
  const bool single = (flags & kMltSingleDigits) != 0;
  if (flags & kMltMarks) return {stretch, single ? scan_llama3<true, 1> : scan_llama3<true, 3>};
  return {stretch, single ? scan_llama3<false, 1> : scan_llama3<false, 3>};
}

}  // namespace ml
