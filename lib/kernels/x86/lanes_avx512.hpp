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
// Lane r is fold_add(rows[r]).
inline Floats fold_rows(const Floats* rows) {
  __m512 fours[4];  // fours[j]: what the first two steps leave of rows j, j + 4, j + 8, j + 12
  for (int j = 0; j < 4; ++j) {
    const auto fold_eights = [](__m512 a, __m512 b) {
      return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    };
    const __m512 first = fold_eights(rows[j].v, rows[j + 4].v);
    const __m512 second = fold_eights(rows[j + 8].v, rows[j + 12].v);
    fours[j] =
        _mm512_add_ps(_mm512_shuffle_f32x4(first, second, 0x88), _mm512_shuffle_f32x4(first, second, 0xdd));
  }
  const auto fold_twos = [](__m512 a, __m512 b) {
    const __m512d p = _mm512_castps_pd(a), q = _mm512_castps_pd(b);
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(p, q)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(p, q)));
  };
  const __m512 low = fold_twos(fours[0], fours[1]), high = fold_twos(fours[2], fours[3]);
  return {_mm512_add_ps(_mm512_shuffle_ps(low, high, 0x88), _mm512_shuffle_ps(low, high, 0xdd))};
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
inline Floats broadcast_f16(const unsigned char* p) {
  std::uint16_t half;
  __builtin_memcpy(&half, p, sizeof half);
  return set1(_mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half))));
}
inline void store_f16_n(std::uint16_t* p, Floats a, std::uint64_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
inline Floats load_bf16_n(const unsigned char* p, std::uint64_t n) {
  return bits_to_floats(shift_left<16>({_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(n), p))}));
}
inline Floats load_bf16(const unsigned char* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return bits_to_floats(shift_left<16>({_mm512_cvtepu16_epi32(words)}));
}
inline Floats load_i8(const unsigned char* p) { return to_floats({_mm512_cvtepi8_epi32(load_bytes(p))}); }
inline Floats load_low_nibbles(const unsigned char* p) {
  const __m128i nibbles = _mm_and_si128(load_bytes(p), _mm_set1_epi8(15));
  return to_floats({_mm512_cvtepi8_epi32(_mm_sub_epi8(nibbles, _mm_set1_epi8(8)))});
}
inline Floats load_high_nibbles(const unsigned char* p) {
  const __m128i nibbles = _mm_and_si128(_mm_srli_epi16(load_bytes(p), 4), _mm_set1_epi8(15));
  return to_floats({_mm512_cvtepi8_epi32(_mm_sub_epi8(nibbles, _mm_set1_epi8(8)))});
}

// Bytes in quads: lane i holds bytes 4 i .. 4 i + 3.
struct Bytes {
  __m512i v;
};

inline Bytes load_quads(const void* p) { return {_mm512_loadu_si512(p)}; }
// The first n bytes, n <= 64, and zeros.
inline Bytes load_quads_n(const void* p, std::uint64_t n) {
  return {_mm512_maskz_loadu_epi8(n == 0 ? 0 : ~0ull >> (64 - n), p)};
}
// A value loaded here, once, and in order: GCC would read memory for each use, and when it likes.
inline Bytes shared(Bytes a) {
  __asm__ volatile("" : "+v"(a.v));
  return a;
}
inline void store_quads(void* p, Bytes a) { _mm512_storeu_si512(p, a.v); }
inline Bytes broadcast_quad(const void* p) {
  std::int32_t quad;
  __builtin_memcpy(&quad, p, sizeof quad);
  return {_mm512_set1_epi32(quad)};
}
inline Bytes low_nibbles(Bytes a) { return {_mm512_and_si512(a.v, _mm512_set1_epi8(15))}; }
inline Bytes high_nibbles(Bytes a) { return low_nibbles({_mm512_srli_epi16(a.v, 4)}); }
// Two Q8 block pairs -> their first halves, their second halves.
inline void split_halves(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  first.v = _mm512_permutex2var_epi64(a.v, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), b.v);
  second.v = _mm512_permutex2var_epi64(a.v, _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15), b.v);
}
// Column k of sixteen rows of 16 bytes, in quads: quad i of columns[k] is bytes 4 k .. 4 k + 3 of row i.
inline void load_columns(const unsigned char* const* rows, std::uint64_t offset, Bytes* columns) {
  __m512i r[4];
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_castsi128_si512(load_bytes(rows[i] + offset));
    r[i] = _mm512_inserti32x4(r[i], load_bytes(rows[i + 4] + offset), 1);
    r[i] = _mm512_inserti32x4(r[i], load_bytes(rows[i + 8] + offset), 2);
    r[i] = _mm512_inserti32x4(r[i], load_bytes(rows[i + 12] + offset), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(r[0], r[1]);
  const __m512i b = _mm512_unpacklo_epi32(r[2], r[3]);
  const __m512i c = _mm512_unpackhi_epi32(r[0], r[1]);
  const __m512i d = _mm512_unpackhi_epi32(r[2], r[3]);
  columns[0].v = _mm512_unpacklo_epi64(a, b);
  columns[1].v = _mm512_unpackhi_epi64(a, b);
  columns[2].v = _mm512_unpacklo_epi64(c, d);
  columns[3].v = _mm512_unpackhi_epi64(c, d);
}
inline Floats quads_to_floats(Bytes a) { return {_mm512_castsi512_ps(a.v)}; }
// The IEEE halves in the low or the high two bytes of each quad.
inline Floats low_halves(Bytes a) { return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a.v))}; }
inline Floats high_halves(Bytes a) {
  return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a.v, 16)))};
}

inline __m512i add_pairs32(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
inline __m512i add_pairs64(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
// Eight registers, each with eight partial sums of block 2i and eight of block 2i + 1 -> sixteen block sums.
inline Ints reduce_eights(const Ints* p) {
  const __m512i low = add_pairs64(add_pairs32(p[0].v, p[1].v), add_pairs32(p[2].v, p[3].v));
  const __m512i high = add_pairs64(add_pairs32(p[4].v, p[5].v), add_pairs32(p[6].v, p[7].v));
  const __m512i sums =
      _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd));
  // Blocks 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15 into order.
  return {_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15),
                                   sums)};
}
// Four registers, each with four partial sums of blocks 4i .. 4i + 3 -> sixteen block sums. Partial sums are
// of eight products of a nibble and a quant: two of them fit into 16 bits.
inline Ints reduce_fours(const Ints* p) {
  const __m512i ones = _mm512_set1_epi16(1);
  const __m512i low = _mm512_madd_epi16(_mm512_packs_epi32(p[0].v, p[1].v), ones);
  const __m512i high = _mm512_madd_epi16(_mm512_packs_epi32(p[2].v, p[3].v), ones);
  const __m512i sums = _mm512_madd_epi16(_mm512_packs_epi32(low, high), ones);
  return {_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                   sums)};
}

// acc + the exact dot of each quad of unsigned weights with one of signed activations.
inline Ints dot_unsigned(Bytes weights, Bytes x, Ints acc) {
  return {_mm512_dpbusd_epi32(acc.v, weights.v, x.v)};
}

// Signed weights are multiplied as weight + kBias, unsigned; sums start with what that adds too much, the
// activations' offsets.
inline constexpr bool kBiased = true;
inline Bytes prepare_signed(Bytes weights) {
  return {_mm512_xor_si512(weights.v, _mm512_set1_epi8(static_cast<char>(0x80)))};
}
inline Ints dot_signed(Bytes prepared, Bytes x, Ints acc) { return dot_unsigned(prepared, x, acc); }

// Tile of a panel product: groups of sixteen rows times tokens, in 32 registers.
inline constexpr int kTileGroups = 2, kTileTokens = 6;

// Rows of float weights that a tile of four tokens takes.
inline constexpr int kFloatRows = 4;

// Tiles of attention: groups of sixteen keys, groups of sixteen dimensions, each times four queries.
inline constexpr int kKeyGroups = 4, kDimGroups = 4;

}  // namespace
}  // namespace ml::kernels
