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

inline bool any_equal(Floats a, Floats b) {
  return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ),
                                         _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ))) != 0;
}

inline __m256 max_pairs32(__m256 a, __m256 b) {
  return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}
inline __m256 max_pairs64(__m256 a, __m256 b) {
  const __m256d c = _mm256_castps_pd(a), d = _mm256_castps_pd(b);
  return _mm256_max_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(c, d)),
                       _mm256_castpd_ps(_mm256_unpackhi_pd(c, d)));
}
// Lane i: the largest lane of p[i].
inline __m256 fold_max_eight(const Floats* p) {
  __m256 fours[2];
  for (int i = 0; i < 2; ++i, p += 4) {
    const auto half = [p](int block) { return _mm256_max_ps(p[block].low, p[block].high); };
    fours[i] = max_pairs64(max_pairs32(half(0), half(1)), max_pairs32(half(2), half(3)));
  }
  return _mm256_max_ps(_mm256_permute2f128_ps(fours[0], fours[1], 0x20),
                       _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
}
inline Floats fold_max_each(const Floats* p) { return {fold_max_eight(p), fold_max_eight(p + 8)}; }

// Sixteen bytes from nibbles 0 .. 15.
inline void store_nibbles(unsigned char* out, Ints low, Ints high) {
  const Ints packed = add(low, shift_left<4>(high));
  store_i8(reinterpret_cast<std::int8_t*>(out),
           shift_right<24>(shift_left<24>(packed)));  // packing saturates
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
