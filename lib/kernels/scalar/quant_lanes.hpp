#pragma once

// What encoding needs beyond lanes.hpp.

#include "kernels/scalar/lanes.hpp"

#include <cmath>

namespace ml::kernels {
namespace {

inline Floats sqrt(Floats a) {
  return map([&](auto i) { return std::sqrt(a.lane[i]); });
}
inline Floats trunc(Floats a) {
  return map([&](auto i) { return std::trunc(a.lane[i]); });
}

// Whether a lane of a or b equals that of x.
inline bool any_equal(Floats a, Floats b, Floats x) {
  bool any = false;
  for (std::uint64_t i = 0; i < kLanes; ++i) any = any || a.lane[i] == x.lane[i] || b.lane[i] == x.lane[i];
  return any;
}

struct Doubles {
  double lane[kLanes];
};
inline Doubles widen(Floats a) {
  Doubles x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = static_cast<double>(a.lane[i]);
  return x;
}
inline Doubles load(const double* p) {
  Doubles x;
  std::memcpy(x.lane, p, sizeof x.lane);
  return x;
}
inline void store(double* p, Doubles x) { std::memcpy(p, x.lane, sizeof x.lane); }
inline Doubles add(Doubles a, Doubles b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] += b.lane[i];
  return a;
}
inline Doubles sub(Doubles a, Doubles b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] -= b.lane[i];
  return a;
}
inline Doubles mul(Doubles a, Doubles b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] *= b.lane[i];
  return a;
}

}  // namespace
}  // namespace ml::kernels
