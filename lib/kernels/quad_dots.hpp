#pragma once

// The integer dots of one slot of a panel and a tile (block_panels.hpp), a quad of weights at a time. Include
// after a lanes header.

#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline constexpr int kQuads = kBlockWeights / 4;

inline void arrange_columns(Bytes*) {}

// dots[g][t]: the sixteen rows of group g times token t, from the encoding's correction.
template <class Encoding, int kG, int kT>
inline void dot_slot(const unsigned char* panel, const unsigned char* tile, const std::int32_t* offsets,
                     Ints (&dots)[kG][kT]) {
#pragma GCC unroll 8
  for (int t = 0; t < kT; ++t) {
    const Ints start = Encoding::correction(set1(offsets[t]));
#pragma GCC unroll 8
    for (int g = 0; g < kG; ++g) dots[g][t] = start;
  }
#pragma GCC unroll 8
  for (int k = 0; k < kQuads; ++k) {
    Bytes weights[kG];
#pragma GCC unroll 8
    for (int g = 0; g < kG; ++g) weights[g] = load_quads(panel + (k * kG + g) * 64);
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) {
      const Bytes quad = broadcast_quad(tile + t * kBlockWeights + 4 * k);
#pragma GCC unroll 8
      for (int g = 0; g < kG; ++g) dots[g][t] = Encoding::dot_quads(weights[g], quad, dots[g][t]);
    }
  }
}

}  // namespace
}  // namespace ml::kernels
