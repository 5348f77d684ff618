#pragma once

// Weights as floats times float activations (ml-numerics(7), rule 3). Include after a lanes header. A row is
// read once and in order for every kTokens tokens; a strip of rows meets the same tokens while they are in
// the first-level cache.

#include "kernels/block_matvec.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

inline constexpr std::uint64_t kTokens = 4;
inline constexpr std::uint64_t kStrip = 8;

// Calls body(row, token, n_tokens) for all rows and groups of tokens, strip by strip.
template <class Body>
inline void for_tiles(std::uint64_t n_tokens, std::uint64_t row_begin, std::uint64_t row_end, Body body) {
  for (std::uint64_t strip = row_begin; strip < row_end; strip += kStrip) {
    const std::uint64_t strip_end = strip + kStrip < row_end ? strip + kStrip : row_end;
    for (std::uint64_t t = 0; t < n_tokens;) {
      const std::uint64_t n = n_tokens - t >= kTokens ? kTokens : 1;
      for (std::uint64_t row = strip; row < strip_end; ++row) body(row, t, n);
      t += n;
    }
  }
}

// Readers of weights as floats: load(i) gives elements i .. i + 15 of a row, load_n their first n and zeros.
struct PlainF32 {
  const unsigned char* row;
  PlainF32(const WeightMatrix& w, std::uint64_t r) : row(w.data + r * w.row_bytes) {}
  Floats load(std::uint64_t i) const { return load_scales(row + 4 * i, false, kLanes); }
  Floats load_n(std::uint64_t i, std::uint64_t n) const { return load_scales(row + 4 * i, false, n); }
};
struct PlainF16 {
  const unsigned char* row;
  PlainF16(const WeightMatrix& w, std::uint64_t r) : row(w.data + r * w.row_bytes) {}
  Floats load(std::uint64_t i) const { return load_f16(row + 2 * i); }
  Floats load_n(std::uint64_t i, std::uint64_t n) const { return load_f16_n(row + 2 * i, n); }
};
struct PlainBf16 {
  const unsigned char* row;
  PlainBf16(const WeightMatrix& w, std::uint64_t r) : row(w.data + r * w.row_bytes) {}
  Floats load(std::uint64_t i) const { return load_bf16(row + 2 * i); }
  Floats load_n(std::uint64_t i, std::uint64_t n) const { return load_bf16_n(row + 2 * i, n); }
};
struct ScaledRow {
  const unsigned char* row;
  const unsigned char* scales;
  bool f16;
  ScaledRow(const WeightMatrix& w, std::uint64_t r)
      : row(w.data + r * w.row_bytes), scales(w.scales + r * w.row_scale_bytes), f16(w.f16_scales) {}
  Floats scale(std::uint64_t block) const {
    if (!f16) return broadcast_f32(scales + block * 4);
    return set1(fold_add(load_f16_n(scales + block * 2, 1)));  // one lane and fifteen zeros
  }
};
// Rule 3: element i in lane i mod 16, in order. The activations' padding is zero, and so are a tail's
// weights.
template <class Row, std::uint64_t kN>
inline void dot_floats(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row,
                       std::uint64_t token, float* out, std::uint64_t out_stride) {
  const Row weights(w, row);
  Floats sums[kN];
  for (auto& sum : sums) sum = set1(0.0f);
  const auto add_lanes = [&](Floats v, std::uint64_t i) {
    for (std::uint64_t t = 0; t < kN; ++t) sums[t] = fma(v, load(x + (token + t) * x_stride + i), sums[t]);
  };
  std::uint64_t i = 0;
  for (; i + kLanes <= w.cols; i += kLanes) add_lanes(weights.load(i), i);
  if (i < w.cols) add_lanes(weights.load_n(i, w.cols - i), i);
  for (std::uint64_t t = 0; t < kN; ++t) out[(token + t) * out_stride + row] = fold_add(sums[t]);
}

template <class Row>
void matmul_f32(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t n_tokens,
                std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride) {
  for_tiles(n_tokens, row_begin, row_end, [&](std::uint64_t row, std::uint64_t token, std::uint64_t n) {
    if (n == kTokens) {
      dot_floats<Row, kTokens>(w, x, x_stride, row, token, out, out_stride);
    } else {
      dot_floats<Row, 1>(w, x, x_stride, row, token, out, out_stride);
    }
  });
}

}  // namespace
}  // namespace ml::kernels
