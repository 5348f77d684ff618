#pragma once

// Kernels over vectors of activations, written once over sixteen lanes. Include after a lanes header.

#include "kernels/exp_lanes.hpp"
#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline std::uint64_t lanes_left(std::uint64_t n, std::uint64_t i) { return n - i < kLanes ? n - i : kLanes; }

// mlb(5), QUANTIZATION RULE. A scale that is not finite makes its block's products so; the quants stay in
// range.
void quantize_q8(const float* x, std::uint64_t n, std::int8_t* quants, float* scales, std::int32_t* sums) {
  for (std::uint64_t b = 0; b < n / kBlockWeights; ++b, x += kBlockWeights, quants += kBlockWeights) {
    const Floats low = load(x);
    const Floats high = load(x + kLanes);
    const float amax = fold_max(max(abs(low), abs(high)));
    const bool zero = amax < 1e-30f;
    scales[b] = zero ? 0.0f : amax / 127.0f;
    const Floats inverse = set1(zero ? 0.0f : 127.0f / amax);
    const Floats limit = set1(127.0f);
    const Floats minus_limit = set1(-127.0f);
    const auto quantize = [&](Floats v) {
      const Floats rounded = add(mul(v, inverse), copysign(set1(0.5f), v));
      return truncate(max(min(rounded, limit), minus_limit));
    };
    const Ints q_low = quantize(low);
    const Ints q_high = quantize(high);
    store_i8(quants, q_low);
    store_i8(quants + kLanes, q_high);
    sums[b] = fold_add(add(q_low, q_high));
  }
}

void rms_norm(const float* x, const float* weight, std::uint64_t n, float eps, float* out) {
  Floats sum = set1(0.0f);
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const Floats v = load_n(x + i, lanes_left(n, i));
    sum = fma(v, v, sum);
  }
  const float mean = fold_add(sum) / static_cast<float>(n);
  const Floats scale = set1(1.0f / __builtin_sqrtf(mean + eps));
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const std::uint64_t left = lanes_left(n, i);
    store_n(out + i, mul(mul(load_n(x + i, left), scale), load_n(weight + i, left)), left);
  }
}

void silu_mul(float* gate, const float* up, std::uint64_t n) {
  const Floats one = set1(1.0f);
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const std::uint64_t left = lanes_left(n, i);
    const Floats g = load_n(gate + i, left);
    const Floats silu = div(g, add(one, exp_lanes(sub(set1(0.0f), g))));
    store_n(gate + i, mul(silu, load_n(up + i, left)), left);
  }
}

void exp_vector(const float* x, std::uint64_t n, float* out) {
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const std::uint64_t left = lanes_left(n, i);
    store_n(out + i, exp_lanes(load_n(x + i, left)), left);
  }
}

void to_f16(const float* x, std::uint64_t n, std::uint16_t* out) {
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const std::uint64_t left = lanes_left(n, i);
    store_f16_n(out + i, load_n(x + i, left), left);
  }
}

}  // namespace
}  // namespace ml::kernels
