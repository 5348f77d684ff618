#pragma once

// The arithmetic of the seed search (nanoseedlm(5), SEED SEARCH) that decides what is found, once for single
// floats and for vectors of them: every operation in this order, none fused.

#include <cstdint>

namespace ml::kernels {

/// Nearest integer, halves to even, within -8 .. 7; what is too large for the trick is clamped all the same.
template <class F>
inline F round_coefficient(F t) {
  const F low = F{} - 8.0f;
  const F high = F{} + 7.0f;
  const F r = (t + 12582912.0f) - 12582912.0f;
  return r < low ? low : (r > high ? high : r);
}

/// One seed's least-squares fit. `e` is its row of SeedTable::exact.
///
///   solve   coefficients t of the fit from the projections b
///   square  |U q|^2
template <std::uint32_t kP, class F>
struct SeedFit;

template <class F>
struct SeedFit<3, F> {
  static void solve(const float* e, const F* b, F* t) {
    t[0] = (e[0] * b[0] + e[1] * b[1]) + e[2] * b[2];
    t[1] = (e[1] * b[0] + e[3] * b[1]) + e[4] * b[2];
    t[2] = (e[2] * b[0] + e[4] * b[1]) + e[5] * b[2];
  }
  static F square(const float* e, const F* q) {
    const float* r = e + 6;
    const F z0 = (r[0] * q[0] + r[1] * q[1]) + r[2] * q[2];
    const F z1 = r[3] * q[1] + r[4] * q[2];
    const F z2 = r[5] * q[2];
    return (z0 * z0 + z1 * z1) + z2 * z2;
  }
};

template <class F>
struct SeedFit<4, F> {
  static void solve(const float* l, const F* b, F* t) {
    const float* d = l + 10;
    const F y0 = b[0] * d[0];
    const F y1 = (b[1] - l[1] * y0) * d[1];
    const F y2 = ((b[2] - l[3] * y0) - l[4] * y1) * d[2];
    const F y3 = (((b[3] - l[6] * y0) - l[7] * y1) - l[8] * y2) * d[3];
    t[3] = y3 * d[3];
    t[2] = (y2 - l[8] * t[3]) * d[2];
    t[1] = ((y1 - l[4] * t[2]) - l[7] * t[3]) * d[1];
    t[0] = (((y0 - l[1] * t[1]) - l[3] * t[2]) - l[6] * t[3]) * d[0];
  }
  static F square(const float* l, const F* q) {
    const F z0 = ((l[0] * q[0] + l[1] * q[1]) + l[3] * q[2]) + l[6] * q[3];
    const F z1 = (l[2] * q[1] + l[4] * q[2]) + l[7] * q[3];
    const F z2 = l[5] * q[2] + l[8] * q[3];
    const F z3 = l[9] * q[3];
    return ((z0 * z0 + z1 * z1) + z2 * z2) + z3 * z3;
  }
};

}  // namespace ml::kernels
