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
// Lane r is fold_add(rows[r]), for eight rows.
inline __m256 fold_eight_rows(const Floats* rows) {
  __m256 fours[4];  // fours[j]: what the first two steps leave of rows j and j + 4
  for (int j = 0; j < 4; ++j) {
    const __m256 first = _mm256_add_ps(rows[j].low, rows[j].high);
    const __m256 second = _mm256_add_ps(rows[j + 4].low, rows[j + 4].high);
    fours[j] = _mm256_add_ps(_mm256_permute2f128_ps(first, second, 0x20),
                             _mm256_permute2f128_ps(first, second, 0x31));
  }
  const auto fold_twos = [](__m256 a, __m256 b) {
    const __m256d p = _mm256_castps_pd(a), q = _mm256_castps_pd(b);
    return _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(p, q)),
                         _mm256_castpd_ps(_mm256_unpackhi_pd(p, q)));
  };
  const __m256 low = fold_twos(fours[0], fours[1]), high = fold_twos(fours[2], fours[3]);
  return _mm256_add_ps(_mm256_shuffle_ps(low, high, 0x88), _mm256_shuffle_ps(low, high, 0xdd));
}
// Lane r is fold_add(rows[r]).
inline Floats fold_rows(const Floats* rows) { return {fold_eight_rows(rows), fold_eight_rows(rows + 8)}; }
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
inline Floats broadcast_f16(const unsigned char* p) {
  std::uint16_t half;
  __builtin_memcpy(&half, p, sizeof half);
  return set1(_mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half))));
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

// Bytes in quads: lane i holds bytes 4 i .. 4 i + 3.
struct Bytes {
  __m256i low, high;
};

inline Bytes load_quads(const void* p) {
  const auto* from = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}
// The first n bytes, n <= 64, and zeros.
inline Bytes load_quads_n(const void* p, std::uint64_t n) {
  if (n == sizeof(Bytes)) return load_quads(p);
  unsigned char bytes[sizeof(Bytes)] = {};
  std::memcpy(bytes, p, n);
  return load_quads(bytes);
}
inline Bytes shared(Bytes a) { return a; }
inline void store_quads(void* p, Bytes a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), a.low);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, a.high);
}
inline Bytes broadcast_quad(const void* p) {
  std::int32_t quad;
  std::memcpy(&quad, p, sizeof quad);
  return {_mm256_set1_epi32(quad), _mm256_set1_epi32(quad)};
}
inline __m256i low_nibbles(__m256i a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
inline Bytes low_nibbles(Bytes a) { return {low_nibbles(a.low), low_nibbles(a.high)}; }
inline Bytes high_nibbles(Bytes a) {
  return {low_nibbles(_mm256_srli_epi16(a.low, 4)), low_nibbles(_mm256_srli_epi16(a.high, 4))};
}
// Two Q8 block pairs -> their first halves, their second halves.
inline void split_halves(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  first = {_mm256_permute2x128_si256(a.low, a.high, 0x20), _mm256_permute2x128_si256(b.low, b.high, 0x20)};
  second = {_mm256_permute2x128_si256(a.low, a.high, 0x31), _mm256_permute2x128_si256(b.low, b.high, 0x31)};
}
// Column k of sixteen rows of 16 bytes, in quads: quad i of columns[k] is bytes 4 k .. 4 k + 3 of row i.
inline void load_columns(const unsigned char* const* rows, std::uint64_t offset, Bytes* columns) {
  for (int half = 0; half < 2; ++half) {
    const unsigned char* const* first = rows + 8 * half;
    __m256i r[4];
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load_bytes(first[i] + offset)),
                                     load_bytes(first[i + 4] + offset), 1);
    }
    const __m256i a = _mm256_unpacklo_epi32(r[0], r[1]);
    const __m256i b = _mm256_unpacklo_epi32(r[2], r[3]);
    const __m256i c = _mm256_unpackhi_epi32(r[0], r[1]);
    const __m256i d = _mm256_unpackhi_epi32(r[2], r[3]);
    const __m256i quads[4] = {_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                              _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)};
    for (int k = 0; k < 4; ++k) (half == 0 ? columns[k].low : columns[k].high) = quads[k];
  }
}
inline Floats quads_to_floats(Bytes a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
// The IEEE halves in the low or the high two bytes of each quad.
inline __m256 words_to_floats(__m256i words) {
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0xd8);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
inline Floats low_halves(Bytes a) {
  const __m256i mask = _mm256_set1_epi32(0xffff);
  return {words_to_floats(_mm256_and_si256(a.low, mask)), words_to_floats(_mm256_and_si256(a.high, mask))};
}
inline Floats high_halves(Bytes a) {
  return {words_to_floats(_mm256_srli_epi32(a.low, 16)), words_to_floats(_mm256_srli_epi32(a.high, 16))};
}

inline __m256i add_pairs32(__m256i a, __m256i b) {
  return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
inline __m256i add_pairs64(__m256i a, __m256i b) {
  return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
// Eight registers of eight partial sums, one a block -> one register of eight block sums.
inline __m256i reduce_eight(const Ints* p) {
  const __m256i low = add_pairs64(add_pairs32(p[0].low, p[0].high), add_pairs32(p[1].low, p[1].high));
  const __m256i high = add_pairs64(add_pairs32(p[2].low, p[2].high), add_pairs32(p[3].low, p[3].high));
  return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                          _mm256_permute2x128_si256(low, high, 0x31));
}
// Eight values, each with eight partial sums of block 2i and eight of block 2i + 1 -> sixteen block sums.
inline Ints reduce_eights(const Ints* p) { return {reduce_eight(p), reduce_eight(p + 4)}; }
// Four values, each with four partial sums of blocks 4i .. 4i + 3 -> sixteen block sums.
inline Ints reduce_fours(const Ints* p) {
  const auto reduce_two = [](Ints a, Ints b) {
    const __m256i sums = add_pairs64(add_pairs32(a.low, a.high), add_pairs32(b.low, b.high));
    // Blocks 0 2 4 6, 1 3 5 7 into order.
    return _mm256_permutevar8x32_epi32(sums, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  };
  return {reduce_two(p[0], p[1]), reduce_two(p[2], p[3])};
}

#if defined(__AVXVNNI__)
inline __m256i dot_unsigned(__m256i weights, __m256i x, __m256i acc) {
  return _mm256_dpbusd_avx_epi32(acc, weights, x);
}
// Signed weights are multiplied as weight + 128, unsigned; sums start with what that adds too much, the
// activations' offsets.
inline constexpr bool kBiased = true;
inline Bytes prepare_signed(Bytes weights) {
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(weights.low, flip), _mm256_xor_si256(weights.high, flip)};
}
inline __m256i dot_signed(__m256i prepared, __m256i x, __m256i acc) { return dot_unsigned(prepared, x, acc); }
#else
// Weights of at most 15: two products of at most 15 * 127 fit maddubs' words.
inline __m256i dot_unsigned(__m256i weights, __m256i x, __m256i acc) {
  const __m256i pairs = _mm256_maddubs_epi16(weights, x);
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
// |w| * (x with w's sign) fits maddubs: two products of at most 127 * 127 each.
inline constexpr bool kBiased = false;
inline Bytes prepare_signed(Bytes weights) { return weights; }
inline __m256i dot_signed(__m256i weights, __m256i x, __m256i acc) {
  return dot_unsigned(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights), acc);
}
#endif

// acc + the exact dot of each quad of unsigned weights (at most 15 without VNNI) with one of signed
// activations.
inline Ints dot_unsigned(Bytes weights, Bytes x, Ints acc) {
  return {dot_unsigned(weights.low, x.low, acc.low), dot_unsigned(weights.high, x.high, acc.high)};
}
inline Ints dot_signed(Bytes prepared, Bytes x, Ints acc) {
  return {dot_signed(prepared.low, x.low, acc.low), dot_signed(prepared.high, x.high, acc.high)};
}

// Tile of a panel product: groups of sixteen rows times tokens, in 16 registers.
inline constexpr int kTileGroups = 1, kTileTokens = 3;

// Rows of float weights that a tile of four tokens takes.
inline constexpr int kFloatRows = 1;

// Tiles of attention: groups of sixteen keys, groups of sixteen dimensions, each times four queries.
inline constexpr int kKeyGroups = 1, kDimGroups = 1;

}  // namespace
}  // namespace ml::kernels
