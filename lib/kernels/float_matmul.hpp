#pragma once

// Weights as floats times float activations (ml-numerics(7), rule 3). Include after a lanes header. A row is
// read once and in order for every kTokens tokens; a strip of rows meets the same tokens while they are in
// the first-level cache.

#include "kernels/block_matvec.hpp"
#include "kernels/table.hpp"
#include "kernels/tile_sums.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

// Readers of weights as floats: load(i) gives elements i .. i + 15 of a row, load_n their first n and zeros.
struct PlainF32 {
  const unsigned char* row;
  PlainF32(const WeightMatrix& w, std::uint64_t r) : row(w.data + r * w.row_bytes) {}
  Floats load(std::uint64_t i) const { return quads_to_floats(load_quads(row + 4 * i)); }
  Floats load_n(std::uint64_t i, std::uint64_t n) const {
    return quads_to_floats(load_quads_n(row + 4 * i, 4 * n));
  }
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
    return f16 ? broadcast_f16(scales + block * 2) : broadcast_f32(scales + block * 4);
  }
};
// Rule 3: element i in lane i mod 16, in order, for kR rows and kT tokens. The activations' padding is zero,
// and so are a tail's weights.
template <class Row, int kR, int kT>
inline void dot_floats(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row,
                       float* out, std::uint64_t out_stride) {
  TileSums<kR, kT> sums;
  sums.update([](int, int) { return set1(0.0f); });
  const auto add_lanes = [&](auto load_row, std::uint64_t i) {
    Floats weights[kR];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) weights[r] = load_row(Row(w, row + r));
    sums.update([&](int r, int t) { return fma(weights[r], load(x + t * x_stride + i), sums.group[r][t]); });
  };
  std::uint64_t i = 0;
  for (; i + kLanes <= w.cols; i += kLanes) add_lanes([&](const Row& weights) { return weights.load(i); }, i);
  if (i < w.cols) add_lanes([&](const Row& weights) { return weights.load_n(i, w.cols - i); }, i);
  for (int t = 0; t < kT; ++t) {
    for (int r = 0; r < kR; ++r) {
      out[static_cast<std::uint64_t>(t) * out_stride + row + r] = fold_add(sums.group[r][t]);
    }
  }
}

template <class Row, int kT>
inline void multiply_rows(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row,
                          std::uint64_t row_end, float* out, std::uint64_t out_stride) {
  constexpr int kR = kT == 1 ? 1 : kFloatRows;
  for (; row + kR <= row_end; row += kR) dot_floats<Row, kR, kT>(w, x, x_stride, row, out, out_stride);
  for (; row < row_end; ++row) dot_floats<Row, 1, kT>(w, x, x_stride, row, out, out_stride);
}

// A strip of rows meets all tokens while it is in the cache.
template <class Row>
void matmul_f32(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t n_tokens,
                std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                unsigned char*) {
  constexpr std::uint64_t kStrip = 16;
  for (std::uint64_t row = row_begin; row < row_end; row += kStrip) {
    const std::uint64_t end = row + kStrip < row_end ? row + kStrip : row_end;
    std::uint64_t t = 0;
    for (; t + 4 <= n_tokens; t += 4) {
      multiply_rows<Row, 4>(w, x + t * x_stride, x_stride, row, end, out + t * out_stride, out_stride);
    }
    for (; t < n_tokens; ++t) {
      multiply_rows<Row, 1>(w, x + t * x_stride, x_stride, row, end, out + t * out_stride, out_stride);
    }
  }
}

}  // namespace
}  // namespace ml::kernels
