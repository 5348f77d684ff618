#pragma once

// e^x and what is made of it, on sixteen lanes: the same IEEE operations on every target. Include after a
// lanes header.
//
// x = n ln 2 + r with n an integer and |r| <= ln 2 / 2; e^r = 1 + r + r^2 P(r), P of degree 4 fitted at
// Chebyshev nodes (relative error 2^-26.5); 2^n is multiplied in two exact halves, so that subnormal results
// round once.

#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline Floats power_of_two(Ints n) { return bits_to_floats(shift_left<23>(add(n, set1(127)))); }

inline Floats exp_lanes(Floats x) {
  // Below -104 the result is 0, above 88.8 infinity; both follow from the clamped value. The clamp also keeps
  // NaN out of the integer part.
  const Floats clamped = min(max(x, set1(-104.0f)), set1(89.0f));
  const Floats magic = set1(0x1.8p23f);  // adding it rounds to an integer, nearest even, held in the low bits
  const Floats shifted = fma(clamped, set1(0x1.715476p+0f), magic);
  const Ints n = sub(floats_to_bits(shifted), floats_to_bits(magic));
  const Floats whole = sub(shifted, magic);
  Floats r = fma(whole, set1(-0x1.62e43p-1f), clamped);
  r = fma(whole, set1(0x1.05c61p-29f), r);

  Floats p = set1(0x1.6d113cp-10f);
  p = fma(p, r, set1(0x1.120ba2p-7f));
  p = fma(p, r, set1(0x1.55551ap-5f));
  p = fma(p, r, set1(0x1.5554dcp-3f));
  p = fma(p, r, set1(0.5f));
  const Floats e = add(fma(p, mul(r, r), r), set1(1.0f));

  const Ints half = shift_right<1>(n);
  const Floats result = mul(mul(e, power_of_two(half)), power_of_two(sub(n, half)));
  return select_nan(x, x, result);
}

// 1 / (1 + e^-x)
inline Floats sigmoid_lanes(Floats x) {
  const Floats one = set1(1.0f);
  return div(one, add(one, exp_lanes(sub(set1(0.0f), x))));
}

// x / (1 + e^-y): x times sigmoid(y), rounded once less.
inline Floats times_sigmoid(Floats x, Floats y) {
  return div(x, add(set1(1.0f), exp_lanes(sub(set1(0.0f), y))));
}

// tanh, within 2 ulp. Below 0.75 an odd polynomial, fitted at Chebyshev nodes (relative error 2^-26.2); above
// it 1 - 2 / (e^2|x| + 1), which no longer cancels.
inline Floats tanh_lanes(Floats x) {
  const Floats magnitude = abs(x);
  const Floats one = set1(1.0f);
  const Floats large = sub(one, div(set1(2.0f), add(exp_lanes(add(magnitude, magnitude)), one)));
  const Floats s = mul(x, x);
  Floats p = set1(0x1.f1a4f4p-10f);
  p = fma(p, s, set1(-0x1.03821p-7f));
  p = fma(p, s, set1(0x1.620acp-6f));
  p = fma(p, s, set1(-0x1.b9d552p-5f));
  p = fma(p, s, set1(0x1.11103ap-3f));
  p = fma(p, s, set1(-0x1.555554p-2f));
  const Floats small = fma(mul(p, s), x, x);
  return select_less(magnitude, set1(0.75f), small, copysign(large, x));
}

}  // namespace
}  // namespace ml::kernels
