#pragma once

// Rows of block-quantized weights times a few tokens (ml-numerics(7), rule 2). Include after a lanes header.
//
// Sixteen rows at a time: first their scales, as one dense stream, then each row once and in order, sixteen
// blocks an iteration: their integer dots come into the sixteen lanes of one register, where they meet the
// scales. (A few scales beside each block cost a tenth of the bandwidth, blocks out of order another tenth.)
// An encoding with blocks of 32 and a scale gives
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

// A row's scales (or biases) as floats, zeros up to a multiple of sixteen.
template <class Scales>
inline void unpack_scales(const WeightMatrix& w, const unsigned char* from, std::uint64_t row,
                          float* scales) {
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  for (std::uint64_t b = 0; b < n_blocks; b += kLanes) {
    store(scales + b, Scales::load(w, from + row * w.row_scale_bytes, b, lanes_left(n_blocks, b)));
  }
}

// The lanes' sums of one row times kN tokens; token t of the arranged quants is at quants + t * x.blocks *
// 32, its scaled sums of blocks at token_sums + t * x.blocks.
template <class Encoding, int kN>
inline void dot_row(const WeightMatrix& w, const float* scales, const float* biases, const QuantizedActs& x,
                    const std::int8_t* quants, const float* token_sums, std::uint64_t row,
                    Floats (&sums)[kN]) {
  const unsigned char* weights = w.data + row * w.row_bytes;
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  for (auto& sum : sums) sum = set1(0.0f);
  const auto add_blocks = [&](const auto& blocks, std::uint64_t b) {
    const Floats weight_scales = load(scales + b);
    for (int t = 0; t < kN; ++t) {
      const std::uint64_t first = static_cast<std::uint64_t>(t) * x.blocks + b;
      const Ints dots = Encoding::dot(blocks, quants + first * kBlockWeights, x.offsets + first);
      sums[t] = fma(to_floats(dots), mul(weight_scales, load(x.scales + first)), sums[t]);
      if constexpr (Encoding::Scales::kBiases)
        sums[t] = fma(load(biases + b), load(token_sums + first), sums[t]);
    }
  };
  std::uint64_t b = 0;
  for (; b + kLanes <= n_blocks; b += kLanes) {
    const unsigned char* p = weights + b * Encoding::kBlockBytes;
    add_blocks(Encoding::load([&](std::uint64_t i) { return load_quads(p + i); }), b);
  }
  if (b < n_blocks) {
    const unsigned char* p = weights + b * Encoding::kBlockBytes;
    const std::uint64_t n_bytes = (n_blocks - b) * Encoding::kBlockBytes;
    const auto load_rest = [&](std::uint64_t i) {
      if (i + 64 <= n_bytes) return load_quads(p + i);
      return i < n_bytes ? load_quads_n(p + i, n_bytes - i) : load_quads_n(p, 0);
    };
    add_blocks(Encoding::load(load_rest), b);
  }
}

// Sixteen rows are folded at once.
template <class Encoding, int kN>
inline void dot_rows(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t row_begin,
                     std::uint64_t row_end, float* out, std::uint64_t out_stride, unsigned char* scratch) {
  const std::int8_t* quants = Encoding::arrange(x.quants, kN * x.blocks * kBlockWeights, scratch);
  using Scales = typename Encoding::Scales;
  float* scales = reinterpret_cast<float*>(scratch + kN * x.blocks * kBlockWeights);
  float* biases = scales + kLanes * x.blocks;
  float* token_sums = biases + kLanes * x.blocks;
  if (Scales::kBiases) {
    for (std::uint64_t i = 0; i < kN * x.blocks; i += kLanes) {
      store(token_sums + i, scaled_sums(load(x.scales + i), load(x.offsets + i)));
    }
  }
  Floats sums[kN][kLanes];
  for (std::uint64_t row = row_begin; row < row_end; row += kLanes) {
    const std::uint64_t n_rows = lanes_left(row_end, row);
    for (std::uint64_t r = 0; r < n_rows; ++r) {
      unpack_scales<Scales>(w, w.scales, row + r, scales + r * x.blocks);
      if (Scales::kBiases) unpack_scales<Scales>(w, w.biases, row + r, biases + r * x.blocks);
    }
    for (std::uint64_t r = 0; r < n_rows; ++r) {
      Floats row_sums[kN];
      dot_row<Encoding, kN>(w, scales + r * x.blocks, biases + r * x.blocks, x, quants, token_sums, row + r,
                            row_sums);
      for (int t = 0; t < kN; ++t) sums[t][r] = row_sums[t];
    }
    for (std::uint64_t r = n_rows; r < kLanes; ++r) {
      for (auto& token : sums) token[r] = set1(0.0f);
    }
    for (int t = 0; t < kN; ++t) {
      store_n(out + static_cast<std::uint64_t>(t) * out_stride + row, fold_rows(sums[t]), n_rows);
    }
  }
}

}  // namespace
}  // namespace ml::kernels
