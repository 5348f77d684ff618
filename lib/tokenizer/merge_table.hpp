#pragma once

#include "formats/mlt.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace ml {

/// The merge rules as a hash table from pairs of ids: open addressing, at most
/// three quarters full.
class MergeTable {
 public:
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  struct Rule {
    std::uint32_t rank;  ///< kNoRank: the pair does not merge
    std::uint32_t merged;
  };

  MergeTable() : MergeTable(std::span<const MltMerge>()) {}

  /// A pair that is listed twice keeps its lowest rank.
  explicit MergeTable(std::span<const MltMerge> merges) {
    const std::size_t n_slots = std::bit_ceil(merges.size() + merges.size() / 3 + 2);
    shift_ = 64 - std::countr_zero(n_slots);
    slots_.resize(n_slots, {kFree, {kNoRank, 0}});
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const std::uint64_t pair = key(merges[rank].left, merges[rank].right);
      Slot& slot = slots_[find_slot(pair)];
      if (slot.pair == kFree) slot = {pair, {static_cast<std::uint32_t>(rank), merges[rank].merged}};
    }
  }

  Rule find(std::uint32_t left, std::uint32_t right) const {
    return slots_[find_slot(key(left, right))].rule;
  }

 private:
  struct Slot {
    std::uint64_t pair;
    Rule rule;
  };
  static constexpr std::uint64_t kFree = UINT64_MAX;

  static std::uint64_t key(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t(left) << 32 | right;
  }

  std::size_t find_slot(std::uint64_t pair) const {
    std::size_t i = static_cast<std::size_t>((pair ^ pair >> 32) * 0x9E3779B97F4A7C15u >> shift_);
    while (slots_[i].pair != pair && slots_[i].pair != kFree) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  int shift_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace ml
