#pragma once

// What encoding needs beyond lanes_avx512.hpp.

#include "kernels/x86/lanes_avx512.hpp"

namespace ml::kernels {
namespace {

inline Floats sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats trunc(Floats a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }

inline bool any_equal(Floats a, Floats b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ) != 0; }

inline __m512 max_pairs32(__m512 a, __m512 b) {
  return _mm512_max_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}
inline __m512 max_pairs64(__m512 a, __m512 b) {
  const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
  return _mm512_max_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)));
}
inline __m512 max_pairs128(__m512 a, __m512 b) {
  return _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
// Lane i: the largest lane of p[i].
inline Floats fold_max_each(const Floats* p) {
  __m512 fours[4];
  for (int i = 0; i < 4; ++i, p += 4)
    fours[i] = max_pairs64(max_pairs32(p[0].v, p[1].v), max_pairs32(p[2].v, p[3].v));
  return {max_pairs128(max_pairs128(fours[0], fours[1]), max_pairs128(fours[2], fours[3]))};
}

// Sixteen bytes from nibbles 0 .. 15.
inline void store_nibbles(unsigned char* out, Ints low, Ints high) {
  store_i8(reinterpret_cast<std::int8_t*>(out), add(low, shift_left<4>(high)));
}

struct Doubles {
  __m512d low, high;
};
inline Doubles widen(Floats a) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}
inline Doubles load(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
inline void store(double* p, Doubles x) {
  _mm512_storeu_pd(p, x.low);
  _mm512_storeu_pd(p + 8, x.high);
}
inline Doubles add(Doubles a, Doubles b) {
  return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}
inline Doubles sub(Doubles a, Doubles b) {
  return {_mm512_sub_pd(a.low, b.low), _mm512_sub_pd(a.high, b.high)};
}
inline Doubles mul(Doubles a, Doubles b) {
  return {_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)};
}

}  // namespace
}  // namespace ml::kernels
