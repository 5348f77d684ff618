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
  using Scales = BlockScales;
  using Panel = WeightsQ4;
  static constexpr std::uint64_t kBlockBytes = 16;
  struct Blocks {
    Bytes low[4];   // elements 0 .. 15 of four blocks
    Bytes high[4];  // elements 16 .. 31
  };

  // The first halves of four blocks, then their second halves.
  static const std::int8_t* arrange(const std::int8_t* quants, std::uint64_t n, unsigned char* scratch) {
    for (std::uint64_t i = 0; i < n; i += 128) {
      Bytes first, second;
      split_halves(load_quads(quants + i), load_quads(quants + i + 64), first, second);
      store_quads(scratch + i, first);
      store_quads(scratch + i + 64, second);
    }
    return reinterpret_cast<const std::int8_t*>(scratch);
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
  static Ints dot(const Blocks& blocks, const std::int8_t* x, const std::int32_t* offsets) {
    return add(dot_nibbles(blocks, x), shift_right<4>(kernels::load(offsets)));
  }
  static Ints dot_nibbles(const Blocks& blocks, const std::int8_t* x) {
    Ints partial[4];
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i) {
      const Ints low = dot_unsigned(blocks.low[i], load_quads(x + 128 * i), set1(std::int32_t{0}));
      partial[i] = dot_unsigned(blocks.high[i], load_quads(x + 128 * i + 64), low);
    }
    return reduce_fours(partial);
  }

  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    Bytes packed[4];
    load_columns(rows, block * kBlockBytes, packed);
#pragma GCC unroll 8
    for (int k = 0; k < 4; ++k) {
      quads[k] = low_nibbles(packed[k]);
      quads[k + 4] = high_nibbles(packed[k]);
    }
  }
  static Ints start(const std::int32_t* offset) { return shift_right<4>(set1(*offset)); }
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
