#pragma once

// Integers in groups of 32, 64 or 128 (mog(5), ENCODINGS), rows by themselves, for block_matvec.hpp and
// block_panels.hpp. Include after a lanes header.
//
// A group of 64 or 128 is two or four blocks of rule 2 with the same scale. Bound by memory as Q8_0 and Q4_0
// are: their iterations over 512 weights have the same instructions, but for int4h, whose blocks come two or
// four at a time out of a group's bytes: twelve more to fold twice as many partial sums.

#include "kernels/block_matvec.hpp"
#include "kernels/block_panels.hpp"
#include "kernels/float_rows.hpp"
#include "kernels/q4_0_kernels.hpp"
#include "kernels/q8_0_kernels.hpp"

namespace ml::kernels {
namespace {

struct WeightsInt8 : WeightsQ8 {
  using Scales = GroupScales;
};

// Nibbles of two consecutive weights in a byte.
struct WeightsInt4 : WeightsQ4 {
  using Scales = GroupScales;

  // The even quants, and the odd ones.
  static void arrange(const std::int8_t* quants, std::uint64_t n_blocks, std::int8_t* low,
                      std::int8_t* high) {
    for (std::uint64_t i = 0; i < n_blocks * (kBlockWeights / 2); i += 64) {
      Bytes even, odd;
      split_pairs(load_quads(quants + 2 * i), load_quads(quants + 2 * i + 64), even, odd);
      store_quads(low + i, even);
      store_quads(high + i, odd);
    }
  }
  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    Bytes packed[4];
    load_columns(rows, block * kBlockBytes, packed);
#pragma GCC unroll 8
    for (int k = 0; k < 4; ++k) zip_nibbles(packed[k], quads[2 * k], quads[2 * k + 1]);
  }
};

// Nibbles of weights j and j + kGroup / 2 of a group in byte j; kGroup 64 or 128.
template <std::uint64_t kGroup>
struct WeightsInt4h : WeightsQ4 {
  static constexpr std::uint64_t kBlocks = kGroup / kBlockWeights;
  using Scales = GroupScales;

  // The first halves of the groups, and their second halves.
  static void arrange(const std::int8_t* quants, std::uint64_t n_blocks, std::int8_t* low,
                      std::int8_t* high) {
    for (std::uint64_t i = 0; i < n_blocks * (kBlockWeights / 2); i += kGroup / 2) {
      std::memcpy(low + i, quants + 2 * i, kGroup / 2);
      std::memcpy(high + i, quants + 2 * i + kGroup / 2, kGroup / 2);
    }
  }
  static Ints dot(const Blocks& blocks, const std::int8_t* low, const std::int8_t* high) {
    Ints partial[8];
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i) {
      const Ints zero = set1(std::int32_t{0});
      partial[2 * i] = dot_unsigned(blocks.low[i], load_quads(low + 64 * i), zero);
      partial[2 * i + 1] = dot_unsigned(blocks.high[i], load_quads(high + 64 * i), zero);
    }
    const Ints dots = reduce_eights(partial);
    return kBlocks == 2 ? swap_middle(dots) : dots;
  }
  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    const std::uint64_t in_group = block % kBlocks;
    const std::uint64_t offset = block / kBlocks * (kGroup / 2) + in_group % (kBlocks / 2) * kBlockWeights;
    load_columns(rows, offset, quads);
    load_columns(rows, offset + 16, quads + 4);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      quads[k] = in_group < kBlocks / 2 ? low_nibbles(quads[k]) : high_nibbles(quads[k]);
    }
  }
};

// Rows as floats (float_rows.hpp).

struct GroupRow : ScaledRow {
  std::uint64_t group;
  GroupRow(const WeightMatrix& w, std::uint64_t r) : ScaledRow(w, r), group(w.group_blocks * kBlockWeights) {}
};

struct ScaledInt8 : GroupRow {
  using GroupRow::GroupRow;
  template <class Use>
  void each(std::uint64_t cols, Use use) const {
    for (std::uint64_t begin = 0, g = 0; begin < cols; ++g) {
      const Floats d = scale(g);
      for (const std::uint64_t end = begin + group; begin < end; begin += 2 * kLanes) {
        use(begin, mul(load_i8(row + begin), d));
        use(begin + kLanes, mul(load_i8(row + begin + kLanes), d));
      }
    }
  }
};

struct ScaledInt4 : GroupRow {
  using GroupRow::GroupRow;
  template <class Use>
  void each(std::uint64_t cols, Use use) const {
    for (std::uint64_t begin = 0, g = 0; begin < cols; ++g) {
      const Floats d = scale(g);
      const NibbleValues values([&](Floats code) { return mul(sub(code, set1(8.0f)), d); });
      for (const std::uint64_t end = begin + group; begin < end; begin += 2 * kLanes) {
        use(begin, values.load(row + begin / 2));
        use(begin + kLanes, values.load(row + begin / 2 + kLanes / 2));
      }
    }
  }
};

struct ScaledInt4h : GroupRow {
  using GroupRow::GroupRow;
  template <class Use>
  void each(std::uint64_t cols, Use use) const {
    const std::uint64_t half = group / 2;
    const unsigned char* bytes = row;
    for (std::uint64_t begin = 0, g = 0; begin < cols; ++g, begin += group, bytes += half) {
      const Floats d = scale(g);
      for (std::uint64_t j = 0; j < half; j += kLanes) use(begin + j, mul(load_low_nibbles(bytes + j), d));
      for (std::uint64_t j = 0; j < half; j += kLanes)
        use(begin + half + j, mul(load_high_nibbles(bytes + j), d));
    }
  }
};

}  // namespace
}  // namespace ml::kernels
