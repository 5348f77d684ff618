#pragma once

// The integer dots of one slot of a panel and a tile (block_panels.hpp) by SMMLA: eight weights of two rows
// times as many of two tokens make four sums in a register. Include after lanes_neon.hpp.
//
// Weights go in as signed bytes, whatever the encoding's dot_quads says: dot_unsigned is for weights that are
// the same as signed bytes, and nothing is biased here.

#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline constexpr int kQuads = kBlockWeights / 4;
inline constexpr int kOctets = kBlockWeights / 8;
static_assert(kTileGroups == 1 && kTileTokens % 3 == 0 && kTileTokens / 3 % 2 == 0 && !kBiased);

// Quads 2 m and 2 m + 1 of sixteen rows become octet m of rows 0 .. 7 and of rows 8 .. 15, two rows a
// register.
inline void arrange_columns(Bytes* columns) {
#pragma GCC unroll 4
  for (int m = 0; m < kOctets; ++m) {
    const auto zip = [&](int i) {
      return vzipq_u32(vreinterpretq_u32_u8(columns[2 * m].v[i]),
                       vreinterpretq_u32_u8(columns[2 * m + 1].v[i]));
    };
    const uint32x4x2_t rows[4] = {zip(0), zip(1), zip(2), zip(3)};
    const auto pair = [&](int j) { return vreinterpretq_u8_u32(rows[j / 2].val[j % 2]); };
    columns[2 * m] = {{pair(0), pair(1), pair(2), pair(3)}};
    columns[2 * m + 1] = {{pair(4), pair(5), pair(6), pair(7)}};
  }
}

// dots[0][t]: sixteen rows times token t, from what the encoding makes of the token's offset.
template <class Encoding, int kG, int kT>
inline void dot_slot(const unsigned char* panel, const unsigned char* tile, const std::int32_t* offsets,
                     Ints (&dots)[kG][kT]) {
  constexpr int kPairs = kT / 2;
  constexpr int kRowPairs = kLanes / 2;
  static_assert(kT % 2 == 0);
  int32x4_t sums[kPairs][kRowPairs];  // rows 2 j and 2 j + 1 of sums[p][j], each with tokens 2 p and 2 p + 1
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 8
    for (int j = 0; j < kRowPairs; ++j) sums[p][j] = vdupq_n_s32(0);
  }
#pragma GCC unroll 8
  for (int m = 0; m < kOctets; ++m) {
    int8x16_t x[kPairs];
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) {
      const unsigned char* token = tile + 2 * p * kBlockWeights + 8 * m;
      x[p] = vreinterpretq_s8_u8(vcombine_u8(vld1_u8(token), vld1_u8(token + kBlockWeights)));
    }
#pragma GCC unroll 8
    for (int j = 0; j < kRowPairs; ++j) {
      const int8x16_t weights = vreinterpretq_s8_u8(vld1q_u8(panel + m * 128 + j * 16));
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) sums[p][j] = vmmlaq_s32(sums[p][j], weights, x[p]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) {
    const auto even = [&](int i) { return vuzp1q_s32(sums[p][2 * i], sums[p][2 * i + 1]); };
    const auto odd = [&](int i) { return vuzp2q_s32(sums[p][2 * i], sums[p][2 * i + 1]); };
    dots[0][2 * p] = add(map_ints(even), Encoding::correction(set1(offsets[2 * p])));
    dots[0][2 * p + 1] = add(map_ints(odd), Encoding::correction(set1(offsets[2 * p + 1])));
  }
}

}  // namespace
}  // namespace ml::kernels
