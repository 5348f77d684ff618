#pragma once

// What encoding needs beyond lanes_avx512.hpp.

#include "kernels/x86/lanes_avx512.hpp"

namespace ml::kernels {
namespace {

inline Floats sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats trunc(Floats a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }

inline bool any_equal(Floats a, Floats b, Floats x) {
  return (_mm512_cmp_ps_mask(a.v, x.v, _CMP_EQ_OQ) | _mm512_cmp_ps_mask(b.v, x.v, _CMP_EQ_OQ)) != 0;
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
