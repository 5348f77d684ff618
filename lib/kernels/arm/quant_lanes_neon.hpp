#pragma once

// What encoding needs beyond lanes_neon.hpp.

#include "kernels/arm/lanes_neon.hpp"

namespace ml::kernels {
namespace {

inline Floats sqrt(Floats a) {
  return map([&](int i) { return vsqrtq_f32(a.v[i]); });
}
inline Floats trunc(Floats a) {
  return map([&](int i) { return vrndq_f32(a.v[i]); });
}

inline bool any_equal(Floats a, Floats b, Floats x) {
  const auto either = [&](int i) { return vorrq_u32(vceqq_f32(a.v[i], x.v[i]), vceqq_f32(b.v[i], x.v[i])); };
  return vmaxvq_u32(vorrq_u32(vorrq_u32(either(0), either(1)), vorrq_u32(either(2), either(3)))) != 0;
}

struct Doubles {
  float64x2_t v[8];
};
template <class Op>
inline Doubles map_doubles(Op op) {
  return {{op(0), op(1), op(2), op(3), op(4), op(5), op(6), op(7)}};
}
inline Doubles widen(Floats a) {
  return map_doubles([&](int i) {
    return i % 2 == 0 ? vcvt_f64_f32(vget_low_f32(a.v[i / 2])) : vcvt_high_f64_f32(a.v[i / 2]);
  });
}
inline Doubles load(const double* p) {
  return map_doubles([&](int i) { return vld1q_f64(p + 2 * i); });
}
inline void store(double* p, Doubles x) {
  for (int i = 0; i < 8; ++i) vst1q_f64(p + 2 * i, x.v[i]);
}
inline Doubles add(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return vaddq_f64(a.v[i], b.v[i]); });
}
inline Doubles sub(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return vsubq_f64(a.v[i], b.v[i]); });
}
inline Doubles mul(Doubles a, Doubles b) {
  return map_doubles([&](int i) { return vmulq_f64(a.v[i], b.v[i]); });
}

}  // namespace
}  // namespace ml::kernels
