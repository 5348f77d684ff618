#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace ml {

/// The sum of doubles as if it were exact and rounded once, whatever their order. It is kept as doubles that
/// do not overlap (J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997). For finite values
/// whose sum is finite.
class OrderFreeSum {
 public:
  void clear() { parts_.clear(); }

  void add(double x) {
    std::size_t n = 0;
    for (double y : parts_) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y;
      const double low = y - (high - x);  // what the addition rounded off
      if (low != 0) parts_[n++] = low;
      x = high;
    }
    parts_.resize(n);
    parts_.push_back(x);
  }

  /// Nearest double, ties to even.
  double rounded() const {
    std::size_t i = parts_.size();
    if (i == 0) return 0;
    double high = parts_[--i];
    double low = 0;
    while (i > 0 && low == 0) {
      const double x = high;
      const double y = parts_[--i];
      high = x + y;
      low = y - (high - x);
    }
    // Exactly between two doubles so far: the sign of what is left decides.
    if (i > 0 && low != 0 && (low < 0) == (parts_[i - 1] < 0)) {
      const double twice = low * 2;
      const double other = high + twice;
      if (other - high == twice) high = other;
    }
    return high;
  }

 private:
  std::vector<double> parts_;  // of growing magnitude
};

}  // namespace ml
