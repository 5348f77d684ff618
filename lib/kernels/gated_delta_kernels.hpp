#pragma once

// The gated delta rule (mlb(5), LINEAR ATTENTION), written once over sixteen lanes. Include after a lanes
// header. Lanes are channels or columns of the state, so nothing is summed across them.

#include "kernels/exp_lanes.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

void conv_silu(const float* const* inputs, const float* weights, std::uint64_t taps, std::uint64_t n,
               float* out) {
  for (std::uint64_t c = 0; c < n; c += kLanes) {
    const std::uint64_t left = lanes_left(n, c);
    Floats sum = set1(0.0f);
    for (std::uint64_t tap = 0; tap < taps; ++tap) {
      sum = fma(load_n(weights + tap * n + c, left), load_n(inputs[tap] + c, left), sum);
    }
    store_n(out + c, times_sigmoid(sum, sum), left);
  }
}

// kN vectors of columns at a time, so that their sums do not wait for each other.
template <std::uint64_t kN>
inline void delta_columns(const DeltaArgs& args, std::uint64_t column, std::uint64_t n_columns) {
  float* state = args.state + column;
  const auto left = [&](std::uint64_t v) { return lanes_left(n_columns, v * kLanes); };
  const Floats decay = set1(args.decay);
  Floats recalled[kN];
  for (auto& sum : recalled) sum = set1(0.0f);
  for (std::uint64_t i = 0; i < args.k_dim; ++i) {
    const Floats key = set1(args.key[i]);
    for (std::uint64_t v = 0; v < kN; ++v) {
      float* row = state + i * args.v_dim + v * kLanes;
      const Floats decayed = mul(load_n(row, left(v)), decay);
      store_n(row, decayed, left(v));
      recalled[v] = fma(key, decayed, recalled[v]);
    }
  }
  Floats delta[kN];
  Floats out[kN];
  for (std::uint64_t v = 0; v < kN; ++v) {
    const Floats value = load_n(args.value + column + v * kLanes, left(v));
    delta[v] = mul(set1(args.beta), sub(value, recalled[v]));
    out[v] = set1(0.0f);
  }
  for (std::uint64_t i = 0; i < args.k_dim; ++i) {
    const Floats key = set1(args.key[i]);
    const Floats query = set1(args.query[i]);
    for (std::uint64_t v = 0; v < kN; ++v) {
      float* row = state + i * args.v_dim + v * kLanes;
      const Floats updated = fma(key, delta[v], load_n(row, left(v)));
      store_n(row, updated, left(v));
      out[v] = fma(query, updated, out[v]);
    }
  }
  for (std::uint64_t v = 0; v < kN; ++v) store_n(args.out + column + v * kLanes, out[v], left(v));
}

void delta_step(const DeltaArgs& args, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kVectors = 4;
  std::uint64_t column = begin;
  for (; column + kVectors * kLanes <= end; column += kVectors * kLanes) {
    delta_columns<kVectors>(args, column, kVectors * kLanes);
  }
  for (; column < end; column += kLanes) delta_columns<1>(args, column, lanes_left(end, column));
}

}  // namespace
}  // namespace ml::kernels
