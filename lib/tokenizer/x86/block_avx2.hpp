#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ml::spans {
namespace {

/// 64 bytes of text; each question is answered by a mask, bit i for byte i.
class Block {
 public:
  explicit Block(const char* text)
      : low_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text))),
        high_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32))) {}

  std::uint64_t not_ascii() const { return join(low_, high_); }
  std::uint64_t equal(char c) const {
    const __m256i all = _mm256_set1_epi8(c);
    return join(_mm256_cmpeq_epi8(low_, all), _mm256_cmpeq_epi8(high_, all));
  }
  /// first to first + n, whatever bits of `ignore` are set
  std::uint64_t in_range(char first, char n, char ignore = 0) const {
    return join(in_range(low_, first, n, ignore), in_range(high_, first, n, ignore));
  }

 private:
  static __m256i in_range(__m256i bytes, char first, char n, char ignore) {
    const __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(ignore));
    const __m256i distance = _mm256_sub_epi8(folded, _mm256_set1_epi8(first));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(distance, _mm256_set1_epi8(n)), distance);
  }
  static std::uint64_t join(__m256i low, __m256i high) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
  }

  __m256i low_;
  __m256i high_;
};

}  // namespace
}  // namespace ml::spans
