#pragma once

// More of lanes_avx512.hpp: what the integer groups of mog(5) and the encodings of nanoseedlm(5) need.

#include "kernels/x86/lanes_avx512.hpp"

namespace ml::kernels {
namespace {

inline Ints bit_and(Ints a, Ints b) { return {_mm512_and_si512(a.v, b.v)}; }
// Lane i is lane i / kN of a.
template <std::uint64_t kN>
inline Floats repeat(Floats a) {
  static_assert(kN == 1 || kN == 2 || kN == 4);
  if constexpr (kN == 1) {
    return a;
  } else if constexpr (kN == 2) {
    return {_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), a.v)};
  } else {
    return {_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), a.v)};
  }
}
// The first eight lanes p[0], the others p[1].
inline Floats spread_two(const float* p) {
  return {_mm512_mask_broadcastss_ps(_mm512_set1_ps(p[0]), 0xff00, _mm_load_ss(p + 1))};
}
inline Ints quads_to_ints(Bytes a) { return {a.v}; }
// 0 1 2 3 -> 0 2 1 3 in each four lanes.
inline Ints swap_middle(Ints a) { return {_mm512_shuffle_epi32(a.v, static_cast<_MM_PERM_ENUM>(0xd8))}; }
inline Ints load_u8(const unsigned char* p) { return {_mm512_cvtepu8_epi32(load_bytes(p))}; }
// Two words of eight nibbles; nibble i % 8 of its word is lowest in lane i.
inline __m512i shift_nibble_pairs(const unsigned char* p) {
  std::int32_t words[2];
  __builtin_memcpy(words, p, sizeof words);
  const __m512i both = _mm512_mask_set1_epi32(_mm512_set1_epi32(words[0]), 0xff00, words[1]);
  return _mm512_srlv_epi32(both, _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28));
}
// The nibbles of 8 bytes, the low one of each first.
inline Ints load_nibble_pairs(const unsigned char* p) {
  return {_mm512_and_si512(shift_nibble_pairs(p), _mm512_set1_epi32(15))};
}
// Values of such nibbles, value(codes as floats) each: all sixteen are made once, then looked up.
template <class Value>
struct NibbleValues {
  __m512 values;
  explicit NibbleValues(Value value)
      : values(value(Floats{_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)}).v) {}
  Floats load(const unsigned char* p) const { return {_mm512_permutexvar_ps(shift_nibble_pairs(p), values)}; }
};

inline Bytes flip_signs(Bytes a) {
  return {_mm512_xor_si512(a.v, _mm512_set1_epi8(static_cast<char>(0x80)))};
}
// The even bytes of a, then those of b; the odd ones.
inline void split_pairs(Bytes a, Bytes b, Bytes& even, Bytes& odd) {
  const auto join = [](__m256i x, __m256i y) { return _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1); };
  even.v = join(_mm512_cvtepi16_epi8(a.v), _mm512_cvtepi16_epi8(b.v));
  odd.v =
      join(_mm512_cvtepi16_epi8(_mm512_srli_epi16(a.v, 8)), _mm512_cvtepi16_epi8(_mm512_srli_epi16(b.v, 8)));
}
// Quads of nibbles, the low one of each byte first: those of bytes 0 and 1 of each quad, of bytes 2 and 3.
inline void zip_nibbles(Bytes packed, Bytes& first, Bytes& second) {
  const __m512i low = low_nibbles(packed).v;
  const __m512i high = high_nibbles(packed).v;
  const __m512 front = _mm512_castsi512_ps(_mm512_unpacklo_epi8(low, high));
  const __m512 back = _mm512_castsi512_ps(_mm512_unpackhi_epi8(low, high));
  first.v = _mm512_castps_si512(_mm512_shuffle_ps(front, back, 0x88));
  second.v = _mm512_castps_si512(_mm512_shuffle_ps(front, back, 0xdd));
}

// Quarters of 16 bytes.

inline Bytes bit_xor(Bytes a, Bytes b) { return {_mm512_xor_si512(a.v, b.v)}; }
// The same 16 bytes in all quarters.
inline Bytes spread(const void* p) {
  return {_mm512_broadcast_i32x4(load_bytes(static_cast<const unsigned char*>(p)))};
}
// 16 bytes in the first and third quarter, others in the second and fourth.
inline Bytes spread_turns(const void* p, const void* q) {
  return {_mm512_mask_broadcast_i64x2(spread(p).v, 0xcc, load_bytes(static_cast<const unsigned char*>(q)))};
}
// Bytes of a's quarter that the quarter of `places` names, 0 .. 15 each.
inline Bytes shuffle(Bytes a, Bytes places) { return {_mm512_shuffle_epi8(a.v, places.v)}; }
// The low bytes of the words of a's quarter, then of b's; the high ones.
inline Bytes pack_low_bytes(Bytes a, Bytes b) {
  const __m512i mask = _mm512_set1_epi16(0xff);
  return {_mm512_packus_epi16(_mm512_and_si512(a.v, mask), _mm512_and_si512(b.v, mask))};
}
inline Bytes pack_high_bytes(Bytes a, Bytes b) {
  return {_mm512_packus_epi16(_mm512_srli_epi16(a.v, 8), _mm512_srli_epi16(b.v, 8))};
}
// Elements of kSize bytes of a and b in turn: of the first halves of the quarters, of the second halves.
template <std::uint64_t kSize>
inline void zip(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  if constexpr (kSize == 1) {
    first.v = _mm512_unpacklo_epi8(a.v, b.v);
    second.v = _mm512_unpackhi_epi8(a.v, b.v);
  } else if constexpr (kSize == 2) {
    first.v = _mm512_unpacklo_epi16(a.v, b.v);
    second.v = _mm512_unpackhi_epi16(a.v, b.v);
  } else {
    first.v = _mm512_unpacklo_epi32(a.v, b.v);
    second.v = _mm512_unpackhi_epi32(a.v, b.v);
  }
}
// Signed nibble kAt of each word, 0 the lowest.
template <int kAt>
inline Bytes nibble_of_words(Bytes a) {
  return {_mm512_srai_epi16(_mm512_slli_epi16(a.v, 12 - 4 * kAt), 12)};
}
// Of each pair of words the 16 bits after the first `right`, less 32768. right is 1 .. 16 for each word, left
// is 16 - right, factors 2^left: for targets that shift words and for those that multiply them.
inline Bytes windows(Bytes low, Bytes high, Bytes right, Bytes left, Bytes) {
  constexpr int kOrXor = 0x56;  // (a | b) ^ c
  return {_mm512_ternarylogic_epi32(_mm512_srlv_epi16(low.v, right.v), _mm512_sllv_epi16(high.v, left.v),
                                    _mm512_set1_epi16(static_cast<short>(0x8000)), kOrXor)};
}
// acc + the dot of each pair of signed words.
inline Ints dot_words(Bytes a, Bytes b, Ints acc) { return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)}; }

}  // namespace
}  // namespace ml::kernels
