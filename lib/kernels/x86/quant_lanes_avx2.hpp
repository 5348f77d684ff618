#pragma once

// What encoding needs beyond lanes_avx2.hpp.

#include "kernels/x86/lanes_avx2.hpp"

namespace ml::kernels {
namespace {

inline Floats sqrt(Floats a) { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
inline Floats trunc(Floats a) {
  constexpr int kToZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(a.low, kToZero), _mm256_round_ps(a.high, kToZero)};
}

inline bool any_equal(Floats a, Floats b, Floats x) {
  const auto equal = [](__m256 p, __m256 q) { return _mm256_cmp_ps(p, q, _CMP_EQ_OQ); };
  const __m256 either = _mm256_or_ps(_mm256_or_ps(equal(a.low, x.low), equal(a.high, x.high)),
                                     _mm256_or_ps(equal(b.low, x.low), equal(b.high, x.high)));
  return _mm256_movemask_ps(either) != 0;
}

struct Doubles {
  __m256d v[4];
};
template <class Op>
inline Doubles map_doubles(Op op) {
  return {{op(0), op(1), op(2), op(3)}};
}
inline Doubles widen(Floats a) {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(a.low)), _mm256_cvtps_pd(_mm256_extractf128_ps(a.low, 1)),
           _mm256_cvtps_pd(_mm256_castps256_ps128(a.high)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(a.high, 1))}};
}
inline Doubles load(const double* p) {
  return map_doubles([&](int i) { return _mm256_loadu_pd(p + 4 * i); });
}
inline void store(double* p, Doubles x) {
  for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, x.v[i]);
}
inline Doubles add(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return _mm256_add_pd(a.v[i], b.v[i]); });
}
inline Doubles sub(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return _mm256_sub_pd(a.v[i], b.v[i]); });
}
inline Doubles mul(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return _mm256_mul_pd(a.v[i], b.v[i]); });
}

}  // namespace
}  // namespace ml::kernels
