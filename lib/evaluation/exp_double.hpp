#pragma once

#include <bit>
#include <cstdint>

namespace ml {

/// e^x for x <= 0, 0 below -700, within 2 ulp. Only multiplications and additions, so that compilers make
/// vectors of it for the plainest machine; util/exact_math.hpp has the function with fma.
inline double exp_of_negative(double x) {
  constexpr double kMagic = 0x1.8p52;  // adding it rounds to an integer, nearest even
  constexpr double kLog2E = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 33 bits: its products with integers are exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const bool tiny = x < -700.0;
  x = tiny ? -700.0 : x;
  const double shifted = x * kLog2E + kMagic;
  const double whole = shifted - kMagic;
  const double r = (x - whole * kLn2High) - whole * kLn2Low;
  // Taylor: |r| <= ln 2 / 2, so r^14 / 14! < 2^-57.
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const std::uint64_t power = std::bit_cast<std::uint64_t>(shifted) << 52;  // the integer, as an exponent
  const double result = std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + power);
  return tiny ? 0.0 : result;
}

}  // namespace ml
