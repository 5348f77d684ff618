#pragma once

// The softplus gate of attention, written once over sixteen lanes. Include after a lanes header.
//
// log2(1 + 2^g) = max(g, 0) + log2(1 + t) with t = 2^-|g|: nothing cancels. t comes from e^r of the exactly
// reduced r in [-1/2, 1/2]. With s = t / (2 + t) <= 1/3, ln(1 + t) = 2 atanh(s) = t - s (t - 2 s^2 P(s^2)),
// where the error of s counts for a third at most; P of degree 4 is fitted at Chebyshev nodes (relative error
// below 2^-27).

#include "kernels/exp_lanes.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

// 2^-magnitude
inline Floats negative_power(Floats magnitude) {
  const Floats clamped = min(magnitude, set1(160.0f));  // there the result is 0
  const Floats magic = set1(0x1.8p23f);  // adding it rounds to an integer, held in the low bits
  const Floats shifted = add(clamped, magic);
  const Ints n = sub(floats_to_bits(magic), floats_to_bits(shifted));
  const Floats rest = sub(sub(shifted, magic), clamped);
  const Floats power = exp_lanes(mul(rest, set1(0x1.62e43p-1f)));
  const Ints half = shift_right<1>(n);
  return mul(mul(power, power_of_two(half)), power_of_two(sub(n, half)));
}

inline Floats softplus_lanes(Floats g) {
  const Floats zero = set1(0.0f);
  const Floats t = negative_power(abs(g));
  const Floats s = div(t, add(t, set1(2.0f)));
  const Floats z = mul(s, s);
  Floats p = set1(0x1.dba26p-4f);
  p = fma(p, z, set1(0x1.bc8cf8p-4f));
  p = fma(p, z, set1(0x1.24c926p-3f));
  p = fma(p, z, set1(0x1.9998d4p-3f));
  p = fma(p, z, set1(0x1.555556p-2f));
  const Floats twice = mul(add(z, z), p);
  const Floats log = fma(sub(twice, t), s, t);
  return select_nan(g, g, fma(log, set1(0x1.715476p+0f), max(g, zero)));
}

// x = x * log2(1 + 2^gate)
void softplus_mul(float* x, const float* gate, std::uint64_t n) {
  map_vectors(x, gate, n, x, [](Floats v, Floats g) { return mul(v, softplus_lanes(g)); });
}

}  // namespace
}  // namespace ml::kernels
