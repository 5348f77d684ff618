#pragma once

#include "tokenizer/merge_table.hpp"

#include <cstdint>
#include <vector>

namespace ml {

/// Merges symbols until no rule applies: always the rule of the lowest rank, the leftmost among equals.
/// Keeps its buffers between calls.
class BpeMerger {
 public:
  /// @param symbols  in: ids of single characters or bytes; out: the tokens
  /// @param rules    of each symbol with the next; garbage afterwards
  /// @cost           O(n log n) rule look-ups for n symbols
  void merge(const MergeTable& table, std::vector<std::uint32_t>& symbols,
             std::vector<MergeTable::Rule>& rules);

  /// Gives back what an unusually long piece needed.
  void trim();

 private:
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t merged;
    std::size_t at;
  };
  struct Link {
    std::size_t previous;
    std::size_t next;
    std::uint32_t rank;  // of the pair with the next symbol
  };

  void merge_short(const MergeTable& table, std::vector<std::uint32_t>& symbols,
                   std::vector<MergeTable::Rule>& rules);
  void merge_long(const MergeTable& table, std::vector<std::uint32_t>& symbols,
                  const std::vector<MergeTable::Rule>& rules);

  std::vector<Candidate> heap_;
  std::vector<Link> links_;
};

}  // namespace ml
