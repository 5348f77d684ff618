#pragma once

// More of lanes_avx2.hpp: what the integer groups of mog(5) and the encodings of nanoseedlm(5) need.

#include "kernels/x86/lanes_avx2.hpp"

namespace ml::kernels {
namespace {

inline Ints bit_and(Ints a, Ints b) {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
// Lane i is lane i / kN of a.
template <std::uint64_t kN>
inline Floats repeat(Floats a) {
  static_assert(kN == 1 || kN == 2 || kN == 4);
  if constexpr (kN == 1) {
    return a;
  } else if constexpr (kN == 2) {
    return {_mm256_permutevar8x32_ps(a.low, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
            _mm256_permutevar8x32_ps(a.low, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
  } else {
    return {_mm256_permutevar8x32_ps(a.low, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1)),
            _mm256_permutevar8x32_ps(a.low, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3))};
  }
}
// The first eight lanes p[0], the others p[1].
inline Floats spread_two(const float* p) { return {_mm256_broadcast_ss(p), _mm256_broadcast_ss(p + 1)}; }
inline Ints quads_to_ints(Bytes a) { return {a.low, a.high}; }
// 0 1 2 3 -> 0 2 1 3 in each four lanes.
inline Ints swap_middle(Ints a) {
  return {_mm256_shuffle_epi32(a.low, 0xd8), _mm256_shuffle_epi32(a.high, 0xd8)};
}
inline Ints load_u8(const unsigned char* p) {
  const __m128i bytes = load_bytes(p);
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
// The nibbles of 8 bytes, the low one of each first.
inline Ints load_nibble_pairs(const unsigned char* p) {
  const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  const auto word = [&](const unsigned char* from) {
    std::int32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(bits), shifts), _mm256_set1_epi32(15));
  };
  return {word(p), word(p + 4)};
}
// Values of such nibbles, value(codes as floats) each.
template <class Value>
struct NibbleValues {
  Value value;
  explicit NibbleValues(Value v) : value(v) {}
  Floats load(const unsigned char* p) const { return value(to_floats(load_nibble_pairs(p))); }
};

template <class Op>
inline Bytes each_half(Bytes a, Bytes b, Op op) {
  return {op(a.low, b.low), op(a.high, b.high)};
}
inline Bytes flip_signs(Bytes a) {
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(a.low, flip), _mm256_xor_si256(a.high, flip)};
}
// The even bytes of a, then those of b; the odd ones.
inline void split_pairs(Bytes a, Bytes b, Bytes& even, Bytes& odd) {
  const __m256i mask = _mm256_set1_epi16(0xff);
  const auto evens = [&](Bytes x) {
    const __m256i packed = _mm256_packus_epi16(_mm256_and_si256(x.low, mask), _mm256_and_si256(x.high, mask));
    return _mm256_permute4x64_epi64(packed, 0xd8);
  };
  const auto odds = [&](Bytes x) {
    const __m256i packed = _mm256_packus_epi16(_mm256_srli_epi16(x.low, 8), _mm256_srli_epi16(x.high, 8));
    return _mm256_permute4x64_epi64(packed, 0xd8);
  };
  even = {evens(a), evens(b)};
  odd = {odds(a), odds(b)};
}
// Quads of nibbles, the low one of each byte first: those of bytes 0 and 1 of each quad, of bytes 2 and 3.
inline void zip_nibbles(Bytes packed, Bytes& first, Bytes& second) {
  const auto zip = [](__m256i a, __m256i& one, __m256i& two) {
    const __m256i low = low_nibbles(a);
    const __m256i high = low_nibbles(_mm256_srli_epi16(a, 4));
    const __m256 front = _mm256_castsi256_ps(_mm256_unpacklo_epi8(low, high));
    const __m256 back = _mm256_castsi256_ps(_mm256_unpackhi_epi8(low, high));
    one = _mm256_castps_si256(_mm256_shuffle_ps(front, back, 0x88));
    two = _mm256_castps_si256(_mm256_shuffle_ps(front, back, 0xdd));
  };
  zip(packed.low, first.low, second.low);
  zip(packed.high, first.high, second.high);
}

// Quarters of 16 bytes.

inline Bytes bit_xor(Bytes a, Bytes b) {
  return each_half(a, b, [](__m256i x, __m256i y) { return _mm256_xor_si256(x, y); });
}
// The same 16 bytes in all quarters.
inline Bytes spread(const void* p) {
  const __m256i both = _mm256_broadcastsi128_si256(load_bytes(static_cast<const unsigned char*>(p)));
  return {both, both};
}
// 16 bytes in the first and third quarter, others in the second and fourth.
inline Bytes spread_turns(const void* p, const void* q) {
  const __m256i first = _mm256_castsi128_si256(load_bytes(static_cast<const unsigned char*>(p)));
  const __m256i both = _mm256_inserti128_si256(first, load_bytes(static_cast<const unsigned char*>(q)), 1);
  return {both, both};
}
// Bytes of a's quarter that the quarter of `places` names, 0 .. 15 each.
inline Bytes shuffle(Bytes a, Bytes places) {
  return each_half(a, places, [](__m256i x, __m256i y) { return _mm256_shuffle_epi8(x, y); });
}
// The low bytes of the words of a's quarter, then of b's; the high ones.
inline Bytes pack_low_bytes(Bytes a, Bytes b) {
  return each_half(a, b, [](__m256i x, __m256i y) {
    const __m256i mask = _mm256_set1_epi16(0xff);
    return _mm256_packus_epi16(_mm256_and_si256(x, mask), _mm256_and_si256(y, mask));
  });
}
inline Bytes pack_high_bytes(Bytes a, Bytes b) {
  return each_half(a, b, [](__m256i x, __m256i y) {
    return _mm256_packus_epi16(_mm256_srli_epi16(x, 8), _mm256_srli_epi16(y, 8));
  });
}
// Elements of kSize bytes of a and b in turn: of the first halves of the quarters, of the second halves.
template <std::uint64_t kSize>
inline void zip(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  first = each_half(a, b, [](__m256i x, __m256i y) {
    return kSize == 1   ? _mm256_unpacklo_epi8(x, y)
           : kSize == 2 ? _mm256_unpacklo_epi16(x, y)
                        : _mm256_unpacklo_epi32(x, y);
  });
  second = each_half(a, b, [](__m256i x, __m256i y) {
    return kSize == 1   ? _mm256_unpackhi_epi8(x, y)
           : kSize == 2 ? _mm256_unpackhi_epi16(x, y)
                        : _mm256_unpackhi_epi32(x, y);
  });
}
// Signed nibble kAt of each word, 0 the lowest.
template <int kAt>
inline Bytes nibble_of_words(Bytes a) {
  return each_half(
      a, a, [](__m256i x, __m256i) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 12 - 4 * kAt), 12); });
}
// Of each pair of words the 16 bits after the first `right`, less 32768. right is 1 .. 16 for each word, left
// is 16 - right, factors 2^left: for targets that shift words and for those that multiply them.
inline Bytes windows(Bytes low, Bytes high, Bytes, Bytes, Bytes factors) {
  const auto cut = [](__m256i l, __m256i h, __m256i f) {
    const __m256i bits = _mm256_or_si256(_mm256_mulhi_epu16(l, f), _mm256_mullo_epi16(h, f));
    return _mm256_xor_si256(bits, _mm256_set1_epi16(static_cast<short>(0x8000)));
  };
  return {cut(low.low, high.low, factors.low), cut(low.high, high.high, factors.high)};
}
// acc + the dot of each pair of signed words.
inline Ints dot_words(Bytes a, Bytes b, Ints acc) {
#if defined(__AVXVNNI__)
  return {_mm256_dpwssd_avx_epi32(acc.low, a.low, b.low), _mm256_dpwssd_avx_epi32(acc.high, a.high, b.high)};
#else
  return add(acc, Ints{_mm256_madd_epi16(a.low, b.low), _mm256_madd_epi16(a.high, b.high)});
#endif
}

}  // namespace
}  // namespace ml::kernels
