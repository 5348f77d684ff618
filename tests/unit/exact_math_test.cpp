#include "util/exact_math.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ml;

namespace {

double ulps(double got, long double want) {
  const auto nearest = static_cast<double>(want);
  const double unit =
      std::nextafter(std::fabs(nearest), std::numeric_limits<double>::infinity()) - std::fabs(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

}  // namespace

TEST_CASE("our double functions keep their bounds", "[util]") {
  double exp_worst = 0;
  for (double x = -700; x < 700; x += 0.0137)
    exp_worst = std::max(exp_worst, ulps(exact_exp(x), std::exp((long double)x)));
  CHECK(exp_worst <= 2.0);

  double log_worst = 0;
  for (double x = 1e-300; x < 1e300; x *= 1.0173)
    log_worst = std::max(log_worst, ulps(exact_log(x), std::log((long double)x)));
  for (double x = 0.5; x < 2; x += 0.0001) {
    if (x != 1) log_worst = std::max(log_worst, ulps(exact_log(x), std::log((long double)x)));
  }
  CHECK(log_worst <= 2.0);
  CHECK(exact_log(1.0) == 0.0);

  double angle_worst = 0;
  for (double x = 0; x < 0x1p25; x = x * 1.0001 + 0.0007) {
    const SinCos got = exact_sincos(x);
    angle_worst =
        std::max<double>(angle_worst, static_cast<double>(std::fabs(got.sin - std::sin((long double)x))));
    angle_worst =
        std::max<double>(angle_worst, static_cast<double>(std::fabs(got.cos - std::cos((long double)x))));
  }
  CHECK(angle_worst <= 0x1p-52);
  // Outside their ranges they stay defined, the same on every machine.
  CHECK(exact_exp(1e308) == HUGE_VAL);
  CHECK(exact_exp(-1e308) == 0.0);
  CHECK(std::isnan(exact_exp(NAN)));
  for (const double x : {1e16, 1e300, HUGE_VAL, -HUGE_VAL, double(NAN)})
    CHECK(std::isnan(exact_sincos(x).sin));
  CHECK(std::fabs(exact_sincos(1e15).sin) <= 1.0);
  CHECK(exact_sincos(0).sin == 0.0);
  CHECK(exact_sincos(0).cos == 1.0);
}
