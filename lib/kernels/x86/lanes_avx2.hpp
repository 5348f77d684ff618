#pragma once

// Sixteen lanes as two AVX registers (AVX2, FMA, F16C).

#include "kernels/table.hpp"

#include <immintrin.h>

#include <cstring>

namespace ml::kernels {
namespace {

struct Floats {
  __m256 low, high;
};
struct Ints {
  __m256i low, high;
};

inline Floats set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, Floats x) {
  _mm256_storeu_ps(p, x.low);
  _mm256_storeu_ps(p + 8, x.high);
}
inline Floats load_n(const float* p, std::uint64_t n) {
  if (n == kLanes) return load(p);
  float lanes[kLanes] = {};
  std::memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}
inline void store_n(float* p, Floats x, std::uint64_t n) {
  if (n == kLanes) return store(p, x);
  float lanes[kLanes];
  store(lanes, x);
  std::memcpy(p, lanes, n * sizeof(float));
}

inline Floats add(Floats a, Floats b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline Floats sub(Floats a, Floats b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline Floats mul(Floats a, Floats b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline Floats div(Floats a, Floats b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline Floats fma(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Floats min(Floats a, Floats b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
inline Floats max(Floats a, Floats b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline __m256 sign_bit() { return _mm256_set1_ps(-0.0f); }
inline Floats abs(Floats a) {
  return {_mm256_andnot_ps(sign_bit(), a.low), _mm256_andnot_ps(sign_bit(), a.high)};
}
inline Floats copysign(Floats magnitude, Floats sign) {
  const Floats positive = abs(magnitude);
  return {_mm256_or_ps(positive.low, _mm256_and_ps(sign_bit(), sign.low)),
          _mm256_or_ps(positive.high, _mm256_and_ps(sign_bit(), sign.high))};
}
inline Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
inline Floats select_nan(Floats a, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q))};
}

inline Floats bits_to_floats(Ints a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
inline Ints floats_to_bits(Floats a) { return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}; }
inline Ints set1(std::int32_t value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
inline Ints load(const std::int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
inline Ints add(Ints a, Ints b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
inline Ints sub(Ints a, Ints b) { return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)}; }
template <int kBits>
inline Ints shift_left(Ints a) {
  return {_mm256_slli_epi32(a.low, kBits), _mm256_slli_epi32(a.high, kBits)};
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return {_mm256_srai_epi32(a.low, kBits), _mm256_srai_epi32(a.high, kBits)};
}
inline Floats to_floats(Ints a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
inline Ints truncate(Floats a) { return {_mm256_cvttps_epi32(a.low), _mm256_cvttps_epi32(a.high)}; }
inline void store_i8(std::int8_t* p, Ints a) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
inline std::int32_t fold_add(Ints a) {
  const __m256i eight = _mm256_add_epi32(a.low, a.high);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

inline float fold_add(Floats a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float fold_max(Floats a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline __m128i load_bytes(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

inline Floats load_f16(const unsigned char* p) {
  return {_mm256_cvtph_ps(load_bytes(p)), _mm256_cvtph_ps(load_bytes(p + 16))};
}
inline Floats load_f16_n(const unsigned char* p, std::uint64_t n) {
  if (n == kLanes) return load_f16(p);
  unsigned char lanes[2 * kLanes] = {};
  std::memcpy(lanes, p, 2 * n);
  return load_f16(lanes);
}
inline void store_f16_n(std::uint16_t* p, Floats a, std::uint64_t n) {
  __m128i halves[2] = {_mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT),
                       _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT)};
  std::memcpy(p, halves, 2 * n);
}
inline Floats load_bf16(const unsigned char* p) {
  return bits_to_floats(
      shift_left<16>({_mm256_cvtepu16_epi32(load_bytes(p)), _mm256_cvtepu16_epi32(load_bytes(p + 16))}));
}
inline Floats load_bf16_n(const unsigned char* p, std::uint64_t n) {
  if (n == kLanes) return load_bf16(p);
  unsigned char lanes[2 * kLanes] = {};
  std::memcpy(lanes, p, 2 * n);
  return load_bf16(lanes);
}
inline Floats bytes_to_floats(__m128i bytes) {
  return to_floats({_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))});
}
inline Floats load_i8(const unsigned char* p) { return bytes_to_floats(load_bytes(p)); }
inline Floats load_low_nibbles(const unsigned char* p) {
  return bytes_to_floats(_mm_sub_epi8(_mm_and_si128(load_bytes(p), _mm_set1_epi8(15)), _mm_set1_epi8(8)));
}
inline Floats load_high_nibbles(const unsigned char* p) {
  const __m128i nibbles = _mm_and_si128(_mm_srli_epi16(load_bytes(p), 4), _mm_set1_epi8(15));
  return bytes_to_floats(_mm_sub_epi8(nibbles, _mm_set1_epi8(8)));
}

// Eight registers of eight partial sums, one a block -> one register of eight block sums.
inline __m256i reduce_eight(const __m256i* p) {
  const auto pair32 = [](__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
  };
  const auto pair64 = [](__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  };
  const __m256i low = pair64(pair32(p[0], p[1]), pair32(p[2], p[3]));
  const __m256i high = pair64(pair32(p[4], p[5]), pair32(p[6], p[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                          _mm256_permute2x128_si256(low, high, 0x31));
}

inline __m256i load_block(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

struct BlocksQ8 {
  static constexpr std::uint64_t kBytes = 32;
  const unsigned char* bytes;

  static BlocksQ8 load(const unsigned char* p) { return {p}; }
  // |x| * (w with x's sign) fits maddubs: two products of at most 127 * 127 each.
  Ints dot(const std::int8_t* x, const std::int32_t*) const {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i p[16];
    for (int b = 0; b < 16; ++b) {
      const __m256i acts = load_block(x + 32 * b);
      const __m256i weights = _mm256_sign_epi8(load_block(bytes + 32 * b), acts);
      p[b] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(acts), weights), ones);
    }
    return {reduce_eight(p), reduce_eight(p + 8)};
  }
};
struct BlocksQ4 {
  static constexpr std::uint64_t kBytes = 16;
  const unsigned char* bytes;

  static BlocksQ4 load(const unsigned char* p) { return {p}; }
  // Nibbles are used unsigned, 0 .. 15; the -8 of each comes off through the block sums of the activations.
  Ints dot(const std::int8_t* x, const std::int32_t* sums) const {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i p[16];
    for (int b = 0; b < 16; ++b) {
      const __m128i packed = load_bytes(bytes + 16 * b);
      const __m256i both =
          _mm256_inserti128_si256(_mm256_castsi128_si256(packed), _mm_srli_epi16(packed, 4), 1);
      const __m256i nibbles = _mm256_and_si256(both, _mm256_set1_epi8(15));
      p[b] = _mm256_madd_epi16(_mm256_maddubs_epi16(nibbles, load_block(x + 32 * b)), ones);
    }
    return sub({reduce_eight(p), reduce_eight(p + 8)}, shift_left<3>(kernels::load(sums)));
  }
};

}  // namespace
}  // namespace ml::kernels
