#pragma once

// Kernels over vectors of activations, written once over sixteen lanes. Include after a lanes header.

#include "kernels/exp_lanes.hpp"
#include "kernels/stored.hpp"
#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline std::uint64_t lanes_left(std::uint64_t n, std::uint64_t i) { return n - i < kLanes ? n - i : kLanes; }

// NaN has many bit patterns, and which one a sum of several is depends on the order of its operands.
inline Floats one_nan(Floats x) { return select_nan(x, set1(__builtin_nanf("")), x); }

inline Floats broadcast_f32(const unsigned char* p) { return set1(load_stored<float>(p)); }

// mlb(5), QUANTIZATION RULE. A scale that is not finite makes its block's products so; the quants stay in
// range.
void quantize_q8(const float* x, std::uint64_t n, std::int8_t* quants, float* scales, std::int32_t* offsets) {
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
    offsets[b] = -128 * fold_add(add(q_low, q_high));
  }
}

inline float sum_of_squares(const float* x, std::uint64_t n) {
  Floats sum = set1(0.0f);
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const Floats v = load_n(x + i, lanes_left(n, i));
    sum = fma(v, v, sum);
  }
  return fold_add(sum);
}

// out[i] = op(a[i], b[i]); out may be a or b.
template <class Op>
inline void map_vectors(const float* a, const float* b, std::uint64_t n, float* out, Op op) {
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const std::uint64_t left = lanes_left(n, i);
    store_n(out + i, op(load_n(a + i, left), load_n(b + i, left)), left);
  }
}

void rms_norm(const float* x, const float* weight, std::uint64_t n, float eps, float* out) {
  const Floats scale = set1(1.0f / __builtin_sqrtf(sum_of_squares(x, n) / static_cast<float>(n) + eps));
  map_vectors(x, weight, n, out, [&](Floats v, Floats w) { return mul(mul(v, scale), w); });
}

void l2_norm(float* x, std::uint64_t n, float eps, float factor) {
  const Floats scale = set1(factor / __builtin_sqrtf(sum_of_squares(x, n) + eps));
  map_vectors(x, x, n, x, [&](Floats v, Floats) { return mul(v, scale); });
}

void silu_mul(float* gate, const float* up, std::uint64_t n) {
  map_vectors(gate, up, n, gate, [](Floats g, Floats u) { return mul(times_sigmoid(g, g), u); });
}

// gelu(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
void gelu_mul(float* gate, const float* up, std::uint64_t n) {
  map_vectors(gate, up, n, gate, [](Floats g, Floats u) {
    const Floats inner = fma(mul(g, g), set1(0.0713548163f), set1(1.59576912f));
    return mul(times_sigmoid(g, mul(g, inner)), u);
  });
}

void sigmoid_mul(float* x, const float* gate, std::uint64_t n) {
  map_vectors(x, gate, n, x, [](Floats v, Floats g) { return mul(v, sigmoid_lanes(g)); });
}

void softcap(float* x, std::uint64_t n, float cap) {
  map_vectors(x, x, n, x, [&](Floats v, Floats) { return mul(tanh_lanes(div(v, set1(cap))), set1(cap)); });
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
