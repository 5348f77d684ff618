#include "util/exact_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace ml {

namespace {

constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMagic = 0x1.8p52;  // adding it rounds to an integer, nearest even

// pi / 2 in three parts of 53 bits.
constexpr double kHalfPi1 = 0x1.921fb54442d18p0;
constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
constexpr double kHalfPi3 = -0x1.f1976b7ed8fbcp-110;

double power_of_two(std::int64_t n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

}  // namespace

double exact_exp(double x) {
  if (!(x >= -700.0 && x <= 700.0)) return x > 700.0 ? kInfinity : x < -700.0 ? 0.0 : x;
  const double whole = std::fma(x, 1.0 / kLn2High, kMagic) - kMagic;
  double r = std::fma(-whole, kLn2High, x);
  r = std::fma(-whole, kLn2Low, r);
  // Taylor: |r| <= ln 2 / 2, so r^14 / 14! < 2^-57.
  double p = 1.0 / 6227020800.0;
  for (const double factorial :
       {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0}) {
    p = std::fma(p, r, 1.0 / factorial);
  }
  return (std::fma(p, r * r, r) + 1.0) * power_of_two(static_cast<std::int64_t>(whole));
}

double exact_log(double x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(f), f = (m - 1) / (m + 1).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto k = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | (1023ull << 52));
  if (m > 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++k;
  }
  const double f = (m - 1.0) / (m + 1.0);
  const double s = f * f;
  double p = 1.0 / 25.0;
  for (const double odd : {23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0})
    p = std::fma(p, s, 1.0 / odd);
  const double log_m = std::fma(2.0 * f * s, p, 2.0 * f);
  const auto exponent = static_cast<double>(k);
  return std::fma(exponent, kLn2High, std::fma(exponent, kLn2Low, log_m));
}

SinCos exact_sincos(double x) {
  if (!(std::fabs(x) < kMagic)) return {kNan, kNan};  // nothing is left of the angle
  const double quarter_turns = std::fma(x, 2.0 / kHalfPi1 / 2.0, kMagic) - kMagic;
  double r = std::fma(-quarter_turns, kHalfPi1, x);
  r = std::fma(-quarter_turns, kHalfPi2, r);
  r = std::fma(-quarter_turns, kHalfPi3, r);
  const double s = r * r;
  double sine = 1.0 / 355687428096000.0;
  for (const double factorial :
       {-1307674368000.0, 6227020800.0, -39916800.0, 362880.0, -5040.0, 120.0, -6.0}) {
    sine = std::fma(sine, s, 1.0 / factorial);
  }
  sine = std::fma(sine * s, r, r);
  double cosine = -1.0 / 6402373705728000.0;
  for (const double factorial :
       {20922789888000.0, -87178291200.0, 479001600.0, -3628800.0, 40320.0, -720.0, 24.0, -2.0}) {
    cosine = std::fma(cosine, s, 1.0 / factorial);
  }
  cosine = std::fma(cosine, s, 1.0);
  switch (static_cast<std::int64_t>(quarter_turns) & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace ml
