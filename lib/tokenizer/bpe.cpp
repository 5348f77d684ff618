#include "tokenizer/bpe.hpp"

#include <algorithm>

namespace ml {

namespace {

// Up to here scanning an array for the lowest rank is faster than a heap.
constexpr std::size_t kShort = 48;

constexpr std::size_t kNone = SIZE_MAX;
constexpr std::uint32_t kGone = UINT32_MAX;
constexpr std::size_t kKeep = std::size_t(1) << 16;

}  // namespace

void BpeMerger::merge(const MergeTable& table, std::vector<std::uint32_t>& symbols,
                      std::vector<MergeTable::Rule>& rules) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    merge_short(table, symbols, rules);
  } else {
    merge_long(table, symbols, rules);
  }
}

void BpeMerger::merge_short(const MergeTable& table, std::vector<std::uint32_t>& symbols,
                            std::vector<MergeTable::Rule>& rules) {
  std::size_t n = symbols.size();
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (rules[i].rank < rules[best].rank) best = i;
    }
    if (rules[best].rank == MergeTable::kNoRank) break;
    symbols[best] = rules[best].merged;
    --n;
    for (std::size_t i = best + 1; i < n; ++i) symbols[i] = symbols[i + 1];
    for (std::size_t i = best; i + 1 < n; ++i) rules[i] = rules[i + 1];
    if (best > 0) rules[best - 1] = table.find(symbols[best - 1], symbols[best]);
    if (best + 1 < n) rules[best] = table.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(n);
}

void BpeMerger::merge_long(const MergeTable& table, std::vector<std::uint32_t>& symbols,
                           const std::vector<MergeTable::Rule>& rules) {
  const std::size_t n = symbols.size();
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  };
  links_.resize(n);
  heap_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    links_[i] = {i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1, MergeTable::kNoRank};
    if (i + 1 == n) break;
    const MergeTable::Rule rule = rules[i];
    links_[i].rank = rule.rank;
    if (rule.rank != MergeTable::kNoRank) heap_.push_back({rule.rank, rule.merged, i});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);

  const auto pair_up = [&](std::size_t at) {
    MergeTable::Rule rule = {MergeTable::kNoRank, 0};
    if (links_[at].next != kNone) rule = table.find(symbols[at], symbols[links_[at].next]);
    links_[at].rank = rule.rank;
    if (rule.rank == MergeTable::kNoRank) return;
    heap_.push_back({rule.rank, rule.merged, at});
    std::push_heap(heap_.begin(), heap_.end(), later);
  };
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    const std::size_t at = best.at;
    if (symbols[at] == kGone || links_[at].rank != best.rank) continue;  // an earlier merge changed the pair
    const std::size_t gone = links_[at].next;
    symbols[at] = best.merged;
    symbols[gone] = kGone;
    links_[at].next = links_[gone].next;
    if (links_[at].next != kNone) links_[links_[at].next].previous = at;
    pair_up(at);
    if (links_[at].previous != kNone) pair_up(links_[at].previous);
  }
  std::erase(symbols, kGone);
}

void BpeMerger::trim() {
  if (heap_.capacity() > kKeep) heap_ = {};
  if (links_.capacity() > kKeep) links_ = {};
}

}  // namespace ml
