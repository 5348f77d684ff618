#pragma once

// Q8_0 (mlb(5), ENCODINGS) for block_matvec.hpp and block_panels.hpp. Include after a lanes header.

#include "kernels/block_matvec.hpp"
#include "kernels/block_panels.hpp"
#include "kernels/float_matmul.hpp"

namespace ml::kernels {
namespace {

struct WeightsQ8 {
  static constexpr bool kArranged = false;
  using Scales = BlockScales;
  using Panel = WeightsQ8;
  static constexpr std::uint64_t kBlockBytes = 32;
  struct Blocks {
    Bytes pairs[8];
  };

  template <class LoadQuads>
  static Blocks load(LoadQuads load_quads) {
    Blocks blocks;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) blocks.pairs[i] = prepare_signed(shared(load_quads(64 * i)));
    return blocks;
  }
  static Ints dot(const Blocks& blocks, const std::int8_t* x, const std::int8_t*) {
    Ints partial[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      partial[i] = dot_signed(blocks.pairs[i], kernels::load_quads(x + 64 * i), set1(std::int32_t{0}));
    }
    return reduce_eights(partial);
  }
  static Ints correction(Ints offsets) { return kBiased ? offsets : set1(std::int32_t{0}); }

  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    load_columns(rows, block * kBlockBytes, quads);
    load_columns(rows, block * kBlockBytes + 16, quads + 4);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) quads[k] = prepare_signed(quads[k]);
  }
  static Ints dot_quads(Bytes weights, Bytes x, Ints acc) { return dot_signed(weights, x, acc); }
};

struct ScaledQ8 : ScaledRow {
  using ScaledRow::ScaledRow;
  Floats load(std::uint64_t i) const { return mul(load_i8(row + i), scale(i / kBlockWeights)); }
  Floats load_n(std::uint64_t i, std::uint64_t) const { return load(i); }
};

}  // namespace
}  // namespace ml::kernels
