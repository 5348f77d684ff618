#pragma once

// Rows of block-quantized weights times a few tokens (ml-numerics(7), rule 2). Include after a lanes header.
//
// A row is read once and in order, sixteen blocks an iteration: their integer dots come into the sixteen
// lanes of one register, where they meet the scales. An encoding with blocks of 32 and a scale gives
//
//   kBlockBytes                          bytes of a block's quants
//   arrange(quants, n, scratch)          the activations in the order in which load() gives weights
//   load(load_quads)                     sixteen blocks; load_quads(i) gives 64 bytes from byte i
//   dot(blocks, x, offsets)              their dots with sixteen arranged blocks of activations
//   Scales                               see block_scales.hpp
//
// and, for panels, what block_panels.hpp says.

#include "kernels/block_scales.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

// One row times kN tokens; token t of the arranged quants is at quants + t * x.blocks * 32.
template <class Encoding, int kN>
inline void dot_row(const WeightMatrix& w, const QuantizedActs& x, const std::int8_t* quants,
                    std::uint64_t row, float* out, std::uint64_t out_stride) {
  const unsigned char* weights = w.data + row * w.row_bytes;
  const unsigned char* scales = w.scales + row * w.row_scale_bytes;
  using Scales = typename Encoding::Scales;
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  Floats sums[kN];
  for (auto& sum : sums) sum = set1(0.0f);
  const auto add_blocks = [&](const auto& blocks, std::uint64_t b, std::uint64_t n) {
    const Floats weight_scales = Scales::load(w, scales, b, n);
    for (int t = 0; t < kN; ++t) {
      const std::uint64_t first = static_cast<std::uint64_t>(t) * x.blocks + b;
      const Ints dots = Encoding::dot(blocks, quants + first * kBlockWeights, x.offsets + first);
      sums[t] = fma(to_floats(dots), mul(weight_scales, load(x.scales + first)), sums[t]);
      if constexpr (Scales::kBiases) {
        const Floats biases = Scales::load(w, w.biases + row * w.row_scale_bytes, b, n);
        sums[t] = fma(biases, scaled_sums(load(x.scales + first), load(x.offsets + first)), sums[t]);
      }
    }
  };
  std::uint64_t b = 0;
  for (; b + kLanes <= n_blocks; b += kLanes) {
    const unsigned char* p = weights + b * Encoding::kBlockBytes;
    add_blocks(Encoding::load([&](std::uint64_t i) { return load_quads(p + i); }), b, kLanes);
  }
  if (b < n_blocks) {
    const unsigned char* p = weights + b * Encoding::kBlockBytes;
    const std::uint64_t n_bytes = (n_blocks - b) * Encoding::kBlockBytes;
    const auto load_rest = [&](std::uint64_t i) {
      const std::uint64_t left = n_bytes > i ? n_bytes - i : 0;
      return load_quads_n(p + (left > 0 ? i : 0), left < 64 ? left : 64);
    };
    add_blocks(Encoding::load(load_rest), b, n_blocks - b);
  }
  for (int t = 0; t < kN; ++t) out[static_cast<std::uint64_t>(t) * out_stride + row] = fold_add(sums[t]);
}

template <class Encoding, int kN>
inline void dot_rows(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t row_begin,
                     std::uint64_t row_end, float* out, std::uint64_t out_stride, unsigned char* scratch) {
  const std::int8_t* quants = Encoding::arrange(x.quants, kN * x.blocks * kBlockWeights, scratch);
  for (std::uint64_t row = row_begin; row < row_end; ++row) {
    dot_row<Encoding, kN>(w, x, quants, row, out, out_stride);
  }
}

}  // namespace
}  // namespace ml::kernels
