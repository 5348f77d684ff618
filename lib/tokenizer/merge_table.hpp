#pragma once

#include "formats/mlt.hpp"
#include "formats/mog_tokenizer.hpp"
#include "util/aligned_buffer.hpp"
#include "util/text_hash.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <span>

namespace ml {

/// The merge rules by their pairs: a hash table over the rules themselves, which must stay where they are.
/// Open addressing, at most three quarters full. A slot tells most other pairs by a part of their hash, so
/// that a pair without a rule seldom costs more than one access.
class MergeTable {
 public:
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  struct Rule {
    std::uint32_t rank;  ///< kNoRank: the pair does not merge
    std::uint32_t merged;
  };

  MergeTable() : MergeTable(std::span<const MltMerge>()) {}

  /// A pair that is listed twice keeps its lowest rank.
  explicit MergeTable(std::span<const MltMerge> merges) : merges_(merges) {
    const std::size_t n_slots = std::bit_ceil(merges.size() + merges.size() / 3 + 2);
    shift_ = 64 - std::countr_zero(n_slots);
    auto slots = AlignedBuffer<Slot>::allocate(n_slots);
    if (!slots) throw std::bad_alloc();
    slots_ = std::move(*slots);
    slots_.use_large_pages();
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const MltMerge& later = merges[std::min(rank + 16, merges.size() - 1)];
      __builtin_prefetch(&slots_.data()[hash_of(later.left, later.right) >> shift_], 1);
      const std::uint64_t hash = hash_of(merges[rank].left, merges[rank].right);
      Slot& slot = slots_.data()[find_slot(hash, merges[rank].left, merges[rank].right)];
      if (slot.rank_plus_1 == 0)
        slot = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(rank + 1)};
    }
  }

  /// No table: pairs are searched in the section of a .mog, which must outlive this.
  explicit MergeTable(const MogTokens& mapped) : MergeTable() { mapped_ = &mapped; }

  Rule find(std::uint32_t left, std::uint32_t right) const {
    if (mapped_ != nullptr) [[unlikely]] {
      const auto merge = mapped_->find_merge(left, right);
      return merge ? Rule{merge->rank, merge->merged} : Rule{kNoRank, 0};
    }
    const Slot slot = slots_.data()[find_slot(hash_of(left, right), left, right)];
    if (slot.rank_plus_1 == 0) return {kNoRank, 0};
    return {slot.rank_plus_1 - 1, merges_[slot.rank_plus_1 - 1].merged};
  }

 private:
  struct Slot {
    std::uint32_t hash;
    std::uint32_t rank_plus_1;  // 0: free
  };

  std::uint64_t hash_of(std::uint32_t left, std::uint32_t right) const {
    return hash_(std::uint64_t(left) << 32 | right);
  }

  std::size_t find_slot(std::uint64_t hash, std::uint32_t left, std::uint32_t right) const {
    const Slot* const slots = slots_.data();
    std::size_t i = static_cast<std::size_t>(hash >> shift_);
    for (; slots[i].rank_plus_1 != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots[i].hash != static_cast<std::uint32_t>(hash)) continue;
      const MltMerge& rule = merges_[slots[i].rank_plus_1 - 1];
      if (rule.left == left && rule.right == right) break;
    }
    return i;
  }

  const MogTokens* mapped_ = nullptr;
  NumberHash hash_;
  int shift_ = 0;
  std::span<const MltMerge> merges_;
  AlignedBuffer<Slot> slots_;
};

}  // namespace ml
