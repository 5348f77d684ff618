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

void BpeMerger::merge(const MergeTable& table, std::vector<std::uint32_t>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    merge_short(table, symbols);
  } else {
    merge_long(table, symbols);
  }
}

void BpeMerger::merge_short(const MergeTable& table, std::vector<std::uint32_t>& symbols) {
  rules_.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    rules_.push_back(table.find(symbols[i], symbols[i + 1]));
  while (!rules_.empty()) {
    const auto lowest = std::min_element(rules_.begin(), rules_.end(),
                                         [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (lowest->rank == MergeTable::kNoRank) return;
    const auto at = static_cast<std::size_t>(lowest - rules_.begin());
    symbols[at] = lowest->merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    rules_.erase(lowest);
    if (at > 0) rules_[at - 1] = table.find(symbols[at - 1], symbols[at]);
    if (at < rules_.size()) rules_[at] = table.find(symbols[at], symbols[at + 1]);
  }
}

void BpeMerger::merge_long(const MergeTable& table, std::vector<std::uint32_t>& symbols) {
  const std::size_t n = symbols.size();
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  };
  links_.resize(n);
  heap_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    links_[i] = {i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1, MergeTable::kNoRank};
    if (i + 1 == n) break;
    const MergeTable::Rule rule = table.find(symbols[i], symbols[i + 1]);
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
