#pragma once

// Sixteen lanes as one AVX-512 register (F, BW, DQ, VL, VNNI).

#include "kernels/table.hpp"

#include <immintrin.h>

namespace ml::kernels {
namespace {

struct Floats {
  __m512 v;
};
struct Ints {
  __m512i v;
};

inline __mmask16 first_lanes(std::uint64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

inline Floats set1(float x) { return {_mm512_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Floats x) { _mm512_storeu_ps(p, x.v); }
inline Floats load_n(const float* p, std::uint64_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store_n(float* p, Floats x, std::uint64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), x.v); }

inline Floats add(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats sub(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats mul(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats div(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Floats abs(Floats a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
inline Floats copysign(Floats magnitude, Floats sign) {
  return {_mm512_or_ps(abs(magnitude).v, _mm512_and_ps(_mm512_set1_ps(-0.0f), sign.v))};
}
inline Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}
inline Floats select_nan(Floats a, Floats yes, Floats no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), no.v, yes.v)};
}

inline Floats bits_to_floats(Ints a) { return {_mm512_castsi512_ps(a.v)}; }
inline Ints floats_to_bits(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Ints set1(std::int32_t value) { return {_mm512_set1_epi32(value)}; }
inline Ints load(const std::int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline Ints add(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Ints sub(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
template <int kBits>
inline Ints shift_left(Ints a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}
inline Floats to_floats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline Ints truncate(Floats a) { return {_mm512_cvttps_epi32(a.v)}; }
inline void store_i8(std::int8_t* p, Ints a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
inline std::int32_t fold_add(Ints a) { return _mm512_reduce_add_epi32(a.v); }

inline float fold_add(Floats a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float fold_max(Floats a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline __m128i load_bytes(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

inline Floats load_f16_n(const unsigned char* p, std::uint64_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}
inline Floats load_f16(const unsigned char* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline void store_f16_n(std::uint16_t* p, Floats a, std::uint64_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
inline Floats load_bf16_n(const unsigned char* p, std::uint64_t n) {
  return bits_to_floats(shift_left<16>({_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(n), p))}));
}
inline Floats load_bf16(const unsigned char* p) { return load_bf16_n(p, kLanes); }
inline Floats load_i8(const unsigned char* p) { return to_floats({_mm512_cvtepi8_epi32(load_bytes(p))}); }
inline Floats load_low_nibbles(const unsigned char* p) {
  const __m128i nibbles = _mm_and_si128(load_bytes(p), _mm_set1_epi8(15));
  return to_floats({_mm512_cvtepi8_epi32(_mm_sub_epi8(nibbles, _mm_set1_epi8(8)))});
}
inline Floats load_high_nibbles(const unsigned char* p) {
  const __m128i nibbles = _mm_and_si128(_mm_srli_epi16(load_bytes(p), 4), _mm_set1_epi8(15));
  return to_floats({_mm512_cvtepi8_epi32(_mm_sub_epi8(nibbles, _mm_set1_epi8(8)))});
}

// Eight registers, each with eight partial sums of block 2i and eight of block 2i + 1 -> sixteen block sums.
inline __m512i reduce_sixteen(const __m512i* p) {
  const auto pair32 = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  };
  const auto pair64 = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  };
  const __m512i low = pair64(pair32(p[0], p[1]), pair32(p[2], p[3]));
  const __m512i high = pair64(pair32(p[4], p[5]), pair32(p[6], p[7]));
  const __m512i sums =
      _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd));
  // Blocks 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15 into order.
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15),
                                  sums);
}

struct BlocksQ8 {
  static constexpr std::uint64_t kBytes = 32;
  __m512i weights[8];  // plus 128, so unsigned

  static BlocksQ8 load(const unsigned char* p) {
    BlocksQ8 blocks;
    const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
    for (int i = 0; i < 8; ++i) blocks.weights[i] = _mm512_xor_si512(_mm512_loadu_si512(p + 64 * i), flip);
    return blocks;
  }
  // The 128 of each weight comes off through the block sums of the activations.
  Ints dot(const std::int8_t* x, const std::int32_t* sums) const {
    __m512i p[8];
    for (int i = 0; i < 8; ++i) {
      p[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights[i], _mm512_loadu_si512(x + 64 * i));
    }
    return sub({reduce_sixteen(p)}, shift_left<7>(kernels::load(sums)));
  }
};
struct BlocksQ4 {
  static constexpr std::uint64_t kBytes = 16;
  __m512i weights[8];  // nibbles 0 .. 15 in the order of the elements

  static BlocksQ4 load(const unsigned char* p) {
    BlocksQ4 blocks;
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (int i = 0; i < 4; ++i) {
      const __m512i packed = _mm512_loadu_si512(p + 64 * i);
      const __m512i low = _mm512_and_si512(packed, mask);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask);
      blocks.weights[2 * i] = _mm512_permutex2var_epi64(low, first, high);
      blocks.weights[2 * i + 1] = _mm512_permutex2var_epi64(low, second, high);
    }
    return blocks;
  }
  Ints dot(const std::int8_t* x, const std::int32_t* sums) const {
    __m512i p[8];
    for (int i = 0; i < 8; ++i) {
      p[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights[i], _mm512_loadu_si512(x + 64 * i));
    }
    return sub({reduce_sixteen(p)}, shift_left<3>(kernels::load(sums)));
  }
};

}  // namespace
}  // namespace ml::kernels
