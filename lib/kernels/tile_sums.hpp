#pragma once

// Sums of a tile whose lanes are rows of the other operand, in the order of the lanes' fold (ml-numerics(7),
// rules 2 and 3). Include after a lanes header.

#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

// The order in which the fold needs the lanes: 0, 8, 4, 12, 2, ...
inline std::uint64_t fold_order(std::uint64_t i) {
  return (i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | i >> 3;
}

// Groups of sixteen rows times kT columns.
template <int kG, int kT>
struct TileSums {
  Floats group[kG][kT];

  template <class Op>
  void update(Op op) {
#pragma GCC unroll 8
    for (int g = 0; g < kG; ++g) {
#pragma GCC unroll 8
      for (int t = 0; t < kT; ++t) group[g][t] = op(g, t);
    }
  }
};

// add_lane(lane, sums) adds the terms of one lane of the rule to sums, which start at zero; the finished
// lanes are folded as the rule folds them.
template <int kG, int kT, class AddLane>
inline TileSums<kG, kT> sum_in_fold_order(AddLane add_lane) {
  TileSums<kG, kT>
      sums;  // a variable of this function, so that it stays in registers wherever that is inlined
  TileSums<kG, kT> finished[4];
  int depth = 0;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    sums.update([](int, int) { return set1(0.0f); });
    add_lane(fold_order(i), sums);
    for (std::uint64_t bit = i; (bit & 1) != 0; bit >>= 1) {
      const TileSums<kG, kT>& other = finished[--depth];
      sums.update([&](int g, int t) { return add(other.group[g][t], sums.group[g][t]); });
    }
    if (i + 1 < kLanes) finished[depth++].update([&](int g, int t) { return sums.group[g][t]; });
  }
  return sums;
}

}  // namespace
}  // namespace ml::kernels
