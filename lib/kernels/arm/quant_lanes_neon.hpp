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

// Whether a lane of a equals that of b.
inline bool any_equal(Floats a, Floats b) {
  const auto equal = [&](int i) { return vceqq_f32(a.v[i], b.v[i]); };
  return vmaxvq_u32(vorrq_u32(vorrq_u32(equal(0), equal(1)), vorrq_u32(equal(2), equal(3)))) != 0;
}

// Lane i: the largest lane of p[i].
inline Floats fold_max_each(const Floats* p) {
  const auto pairs = [](float32x4_t a, float32x4_t b) { return max(vuzp1q_f32(a, b), vuzp2q_f32(a, b)); };
  const auto four = [&](int i) { return max(max(p[i].v[0], p[i].v[2]), max(p[i].v[1], p[i].v[3])); };
  return map([&](int i) {
    return pairs(pairs(four(4 * i), four(4 * i + 1)), pairs(four(4 * i + 2), four(4 * i + 3)));
  });
}

// Sixteen bytes from nibbles 0 .. 15.
inline void store_nibbles(unsigned char* out, Ints low, Ints high) {
  store_i8(reinterpret_cast<std::int8_t*>(out), add(low, shift_left<4>(high)));
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
