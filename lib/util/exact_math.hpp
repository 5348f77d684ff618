#pragma once

namespace ml {

// Our own double-precision functions, sequences of IEEE operations that give the same bits everywhere; the
// RoPE tables are made with them (ml-numerics(7), rule 4). Within 2 ulp of the true value in the stated
// ranges.

/// e^x for |x| <= 700; 0 below, infinity above, NaN of NaN.
double exact_exp(double x);

/// Natural logarithm of a positive normal x.
double exact_log(double x);

struct SinCos {
  double sin;
  double cos;
};
/// Sine and cosine of |x| <= 2^25 (an absolute error below 2^-52); of less use up to 2^52,
/// NaN beyond.
SinCos exact_sincos(double x);

}  // namespace ml
