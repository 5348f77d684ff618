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

// Whether a lane of a equals that of b.
inline bool any_equal(Floats a, Floats b) {
  bool any = false;
  for (std::uint64_t i = 0; i < kLanes; ++i) any = any || a.lane[i] == b.lane[i];
  return any;
}

// Lane i: the largest lane of p[i].
inline Floats fold_max_each(const Floats* p) {
  return map([&](auto i) { return fold_max(p[i]); });
}

// Sixteen bytes from nibbles 0 .. 15.
inline void store_nibbles(unsigned char* out, Ints low, Ints high) {
  for (std::uint64_t i = 0; i < kLanes; ++i)
    out[i] = static_cast<unsigned char>(low.lane[i] | high.lane[i] << 4);
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
