#include "tokenizer/added_tokens.hpp"

#include <algorithm>
#include <cstring>

namespace ml {

namespace {

// Steps in the trie that are well spent: so many for each byte, and some more.
constexpr std::uint64_t kStepsPerByte = 16;
constexpr std::uint64_t kFreeSteps = 1 << 14;
constexpr std::size_t kStretch = 1 << 16;

}  // namespace

std::uint32_t AddedTokens::find_child(std::uint32_t list, unsigned char byte, std::uint64_t& n_steps) const {
  for (; list != kNone && nodes_[list].byte != byte; ++n_steps) list = nodes_[list].sibling;
  ++n_steps;
  return list;
}

void AddedTokens::insert(std::string_view content, std::uint32_t id) {
  const auto add_node = [&](unsigned char byte, std::uint32_t sibling) {
    nodes_.push_back({byte, kNone, kNone, sibling});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  };
  const auto first = static_cast<unsigned char>(content[0]);
  if (first_[first] == kNone) {
    first_[first] = add_node(first, kNone);
    only_first_ = only_first_ == -1 ? first : -2;
  }
  std::uint32_t node = first_[first];
  std::uint64_t n_steps = 0;
  for (const char c : content.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t child = find_child(nodes_[node].child, byte, n_steps);
    if (child == kNone) {
      child = add_node(byte, nodes_[node].child);
      nodes_[node].child = child;
    }
    node = child;
  }
  if (nodes_[node].id != kNone) return;
  nodes_[node].id = id;
  contents_.push_back(content);
  ids_.push_back(id);
  longest_ = std::max(longest_, content.size());
}

// @return the first place where one may begin
const char* AddedTokens::find_first(const char* at, const char* end) const {
  if (only_first_ >= 0) {
    const void* found =
        at == end ? nullptr : std::memchr(at, only_first_, static_cast<std::size_t>(end - at));
    return found != nullptr ? static_cast<const char*>(found) : end;
  }
  while (at != end && first_[static_cast<unsigned char>(*at)] == kNone) ++at;
  return at;
}

std::optional<std::uint32_t> AddedTokens::find(std::string_view content) const {
  if (content.empty()) return std::nullopt;
  std::uint64_t n_steps = 0;
  std::uint32_t node = first_[static_cast<unsigned char>(content[0])];
  for (std::size_t at = 1; node != kNone && at < content.size(); ++at) {
    node = find_child(nodes_[node].child, static_cast<unsigned char>(content[at]), n_steps);
  }
  if (node == kNone || nodes_[node].id == kNone) return std::nullopt;
  return nodes_[node].id;
}

const TokenAutomaton& AddedTokens::backward() const {
  std::call_once(backward_once_, [&] {
    backward_ = std::make_unique<TokenAutomaton>(contents_, TokenAutomaton::Direction::backward);
  });
  return *backward_;
}

std::optional<AddedTokens::Match> AddedTokens::Search::next(std::size_t from) {
  if (tokens_.nodes_.empty()) return std::nullopt;
  if (by_stretches_) return next_in_stretch(from);
  const std::vector<Node>& nodes = tokens_.nodes_;
  const char* const end = text_.data() + text_.size();
  for (const char* here = text_.data() + from; (here = tokens_.find_first(here, end)) != end; ++here) {
    const auto begin = static_cast<std::size_t>(here - text_.data());
    if (n_steps_ > kStepsPerByte * begin + kFreeSteps) [[unlikely]] {
      by_stretches_ = true;
      return next_in_stretch(begin);
    }
    std::uint32_t node = tokens_.first_[static_cast<unsigned char>(*here)];
    std::optional<Match> longest;
    for (std::size_t at = begin + 1;; ++at) {
      if (nodes[node].id != kNone) longest = {begin, at, nodes[node].id};
      if (at == text_.size()) break;
      node = tokens_.find_child(nodes[node].child, static_cast<unsigned char>(text_[at]), n_steps_);
      if (node == kNone) break;
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

std::optional<AddedTokens::Match> AddedTokens::Search::next_in_stretch(std::size_t from) {
  for (std::size_t at = from; at < text_.size(); ++at) {
    if (at >= end_) read_stretch(at);
    const std::uint32_t token = found_[at - begin_];
    if (token != kNone) return Match{at, at + tokens_.contents_[token].size(), tokens_.ids_[token]};
  }
  return std::nullopt;
}

// What follows the stretch is read first, as far as a token reaches that begins in it. That is no longer than
// the stretch itself, so that each byte is read twice at most.
void AddedTokens::Search::read_stretch(std::size_t begin) {
  const TokenAutomaton& automaton = tokens_.backward();
  const std::size_t reach = tokens_.longest_;
  begin_ = begin;
  end_ = begin + std::min(std::max(reach, kStretch), text_.size() - begin);
  found_.resize(end_ - begin_);
  auto state = TokenAutomaton::kStart;
  for (std::size_t at = end_ + std::min(reach, text_.size() - end_); at-- > begin_;) {
    state = automaton.step(state, static_cast<unsigned char>(text_[at]));
    if (at < end_) found_[at - begin_] = automaton.longest(state);
  }
}

std::vector<bool> AddedTokens::may_overlap(const std::vector<std::string_view>& texts) const {
  const TokenAutomaton automaton(contents_, TokenAutomaton::Direction::forward);
  std::vector<bool> overlaps;
  for (const std::string_view text : texts) {
    auto state = TokenAutomaton::kStart;
    bool holds = false;
    for (std::size_t at = 0; at < text.size() && !holds; ++at) {
      state = automaton.step(state, static_cast<unsigned char>(text[at]));
      holds = automaton.longest(state) != kNone;
    }
    overlaps.push_back(holds || state != TokenAutomaton::kStart);
  }
  return overlaps;
}

}  // namespace ml
