#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ml::spans {
namespace {

/// 64 bytes of text; each question is answered by a mask, bit i for byte i.
class Block {
 public:
  explicit Block(const char* text) : bytes_(_mm512_loadu_si512(text)) {}

  std::uint64_t not_ascii() const { return _mm512_movepi8_mask(bytes_); }
  std::uint64_t equal(char c) const { return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(c)); }
  /// first to first + n, whatever bits of `ignore` are set
  std::uint64_t in_range(char first, char n, char ignore = 0) const {
    const __m512i folded = _mm512_or_si512(bytes_, _mm512_set1_epi8(ignore));
    const __m512i distance = _mm512_sub_epi8(folded, _mm512_set1_epi8(first));
    return _mm512_cmple_epu8_mask(distance, _mm512_set1_epi8(n));
  }

 private:
  __m512i bytes_;
};

}  // namespace
}  // namespace ml::spans
