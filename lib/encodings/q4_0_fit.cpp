#include "encodings/q4_0_fit.hpp"

#include <array>

namespace ml {

namespace {

// One block a lane: sums run in element order in every lane, whatever the width of the machine's vectors.
constexpr std::uint32_t kVectorLanes = 4;
constexpr std::uint32_t kVectors = kQ4Lanes / kVectorLanes;
using F32x4 = float __attribute__((vector_size(16)));
using I32x4 = std::int32_t __attribute__((vector_size(16)));

struct Lanes {
  F32x4 v[kVectors];
};

constexpr std::array<float, 13> make_levels() {
  std::array<float, 13> levels{};
  for (std::size_t k = 0; k < levels.size(); ++k)
    levels[k] = static_cast<float>(-6.0 - 0.2 * static_cast<double>(k));
  return levels;
}
constexpr std::array<float, 13> kLevels = make_levels();

F32x4 splat(float value) { return F32x4{value, value, value, value}; }
F32x4 magnitude(F32x4 x) { return reinterpret_cast<F32x4>(reinterpret_cast<I32x4>(x) & 0x7fffffff); }

// Nearest integer in -8 .. 7, half away from zero: adding the float just below 0.5 before cutting off is
// exact for magnitudes this small.
I32x4 level_of(F32x4 t) {
  const F32x4 high = splat(7.0f);
  const F32x4 low = splat(-8.0f);
  t = t < high ? t : high;
  t = t > low ? t : low;
  const I32x4 sign = reinterpret_cast<I32x4>(t) & INT32_MIN;
  const I32x4 half = sign | reinterpret_cast<I32x4>(splat(0x1.fffffep-2f));
  return __builtin_convertvector(t + reinterpret_cast<F32x4>(half), I32x4);
}

template <std::uint32_t kGroup>
void transpose(const float* x, Lanes* out) {
  for (std::uint32_t j = 0; j < kGroup; ++j) {
    for (std::uint32_t i = 0; i < kVectors; ++i) {
      const float* at = x + i * kVectorLanes * kGroup + j;
      out[j].v[i] = F32x4{at[0], at[kGroup], at[2 * kGroup], at[3 * kGroup]};
    }
  }
}

// The signed element of largest magnitude, the first among equals.
template <std::uint32_t kGroup>
F32x4 largest(const Lanes* x, std::uint32_t i) {
  F32x4 m = x[0].v[i];
  for (std::uint32_t j = 1; j < kGroup; ++j) m = magnitude(x[j].v[i]) > magnitude(m) ? x[j].v[i] : m;
  return m;
}

struct Candidate {
  F32x4 d;
  F32x4 error;
};

template <std::uint32_t kGroup>
Candidate try_scale(const Lanes* x, const Lanes* w, std::uint32_t i, F32x4 inverse) {
  F32x4 levels[kGroup];
  F32x4 numerator = splat(0);
  F32x4 denominator = splat(0);
  for (std::uint32_t j = 0; j < kGroup; ++j) {
    const F32x4 level = __builtin_convertvector(level_of(x[j].v[i] * inverse), F32x4);
    levels[j] = level;
    const F32x4 weighted = w[j].v[i] * level;
    numerator += weighted * x[j].v[i];
    denominator += weighted * level;
  }
  const F32x4 zero = splat(0);
  const F32x4 quotient = numerator / denominator;
  const F32x4 d = denominator == zero ? zero : quotient;
  F32x4 error = splat(0);
  for (std::uint32_t j = 0; j < kGroup; ++j) {
    const F32x4 r = x[j].v[i] - d * levels[j];
    error += w[j].v[i] * (r * r);
  }
  return {d, error};
}

template <std::uint32_t kGroup>
void store_nibbles(const Lanes* x, std::uint32_t i, F32x4 inverse, std::uint8_t* quants) {
  for (std::uint32_t j = 0; j < kGroup / 2; ++j) {
    const I32x4 low = level_of(x[j].v[i] * inverse) + 8;
    const I32x4 high = level_of(x[j + kGroup / 2].v[i] * inverse) + 8;
    const I32x4 packed = low | (high << 4);
    for (std::uint32_t lane = 0; lane < kVectorLanes; ++lane) {
      quants[(i * kVectorLanes + lane) * (kGroup / 2) + j] = static_cast<std::uint8_t>(packed[lane]);
    }
  }
}

}  // namespace

template <std::uint32_t kGroup>
void fit_q4_0(const float* x, const float* w, std::uint8_t* quants, Q4Fit& fit) {
  Lanes xs[kGroup];
  Lanes ws[kGroup];
  transpose<kGroup>(x, xs);
  transpose<kGroup>(w, ws);
  for (std::uint32_t i = 0; i < kVectors; ++i) {
    const F32x4 m = largest<kGroup>(xs, i);
    const F32x4 zero = splat(0);
    F32x4 best_inverse = zero;
    Candidate best{};
    for (std::size_t k = 0; k < kLevels.size(); ++k) {
      const F32x4 quotient = splat(kLevels[k]) / m;
      const F32x4 inverse = m == zero ? zero : quotient;
      const Candidate candidate = try_scale<kGroup>(xs, ws, i, inverse);
      const auto better = k == 0 ? zero == zero : candidate.error < best.error;
      best.d = better ? candidate.d : best.d;
      best.error = better ? candidate.error : best.error;
      best_inverse = better ? inverse : best_inverse;
    }
    for (std::uint32_t lane = 0; lane < kVectorLanes; ++lane) {
      fit.d[i * kVectorLanes + lane] = best.d[lane];
      fit.error[i * kVectorLanes + lane] = best.error[lane];
    }
    store_nibbles<kGroup>(xs, i, best_inverse, quants);
  }
}

template void fit_q4_0<32>(const float*, const float*, std::uint8_t*, Q4Fit&);
template void fit_q4_0<64>(const float*, const float*, std::uint8_t*, Q4Fit&);
template void fit_q4_0<128>(const float*, const float*, std::uint8_t*, Q4Fit&);

}  // namespace ml
