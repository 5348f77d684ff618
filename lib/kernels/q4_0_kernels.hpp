#pragma once

// Q4_0 (mlb(5), ENCODINGS) for block_matvec.hpp and block_panels.hpp. Include after a lanes header.
//
// Nibbles are multiplied unsigned, 0 .. 15; the 8 that each has too much comes off through the activations'
// offsets, which are made for 128.

#include "kernels/block_matvec.hpp"
#include "kernels/block_panels.hpp"
#include "kernels/float_matmul.hpp"

namespace ml::kernels {
namespace {

struct WeightsQ4 {
  static constexpr bool kArranged = true;
  using Scales = BlockScales;
  using Panel = WeightsQ4;
  static constexpr std::uint64_t kBlockBytes = 16;
  struct Blocks {
    Bytes low[4];   // elements 0 .. 15 of four blocks
    Bytes high[4];  // elements 16 .. 31
  };

  // The first halves of the blocks, and their second halves.
  static void arrange(const std::int8_t* quants, std::uint64_t n_blocks, std::int8_t* low,
                      std::int8_t* high) {
    for (std::uint64_t i = 0; i < n_blocks * (kBlockWeights / 2); i += 64) {
      Bytes first, second;
      split_halves(load_quads(quants + 2 * i), load_quads(quants + 2 * i + 64), first, second);
      store_quads(low + i, first);
      store_quads(high + i, second);
    }
  }
  template <class LoadQuads>
  static Blocks load(LoadQuads load_quads) {
    Blocks blocks;
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i) {
      const Bytes packed = shared(load_quads(64 * i));
      blocks.low[i] = low_nibbles(packed);
      blocks.high[i] = high_nibbles(packed);
    }
    return blocks;
  }
  static Ints dot(const Blocks& blocks, const std::int8_t* low, const std::int8_t* high) {
    Ints partial[4];
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i) {
      const Ints half = dot_unsigned(blocks.low[i], load_quads(low + 64 * i), set1(std::int32_t{0}));
      partial[i] = dot_unsigned(blocks.high[i], load_quads(high + 64 * i), half);
    }
    return reduce_fours(partial);
  }
  static Ints correction(Ints offsets) { return shift_right<4>(offsets); }

  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    Bytes packed[4];
    load_columns(rows, block * kBlockBytes, packed);
#pragma GCC unroll 8
    for (int k = 0; k < 4; ++k) {
      quads[k] = low_nibbles(packed[k]);
      quads[k + 4] = high_nibbles(packed[k]);
    }
  }
  static Ints dot_quads(Bytes weights, Bytes x, Ints acc) { return dot_unsigned(weights, x, acc); }
};

struct ScaledQ4 : ScaledRow {
  using ScaledRow::ScaledRow;
  Floats load(std::uint64_t i) const {
    const unsigned char* block = row + i / kBlockWeights * (kBlockWeights / 2);
    const Floats quants = i % kBlockWeights == 0 ? load_low_nibbles(block) : load_high_nibbles(block);
    return mul(quants, scale(i / kBlockWeights));
  }
  Floats load_n(std::uint64_t i, std::uint64_t) const { return load(i); }
};

}  // namespace
}  // namespace ml::kernels
