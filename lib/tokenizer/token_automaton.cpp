#include "tokenizer/token_automaton.hpp"

#include <algorithm>
#include <numeric>

namespace ml {

TokenAutomaton::TokenAutomaton(const std::vector<std::string_view>& tokens, Direction direction) {
  const bool forward = direction == Direction::forward;
  std::vector<std::uint32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t i, std::uint32_t j) {
    const std::string_view a = tokens[i], b = tokens[j];
    if (forward) return a < b;
    const auto below = [](char l, char r) {
      return static_cast<unsigned char>(l) < static_cast<unsigned char>(r);
    };
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend(), below);
  });
  const auto byte_at = [&](std::size_t place, std::size_t depth) {
    const std::string_view token = tokens[order[place]];
    return static_cast<unsigned char>(forward ? token[depth] : token[token.size() - 1 - depth]);
  };
  // The places in that order of the tokens that begin with a node's bytes, for the nodes of one depth.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Range> level = {{0, order.size()}}, next;
  bytes_.push_back(0);
  for (std::size_t depth = 0; !level.empty(); ++depth, std::swap(level, next)) {
    next.clear();
    for (const auto& [begin, end] : level) {
      std::size_t at = begin;
      while (at < end && tokens[order[at]].size() == depth) ++at;
      longest_.push_back(at > begin ? order[begin] : kNone);
      children_.push_back(static_cast<State>(bytes_.size()));
      while (at < end) {
        const unsigned char byte = byte_at(at, depth);
        const std::size_t first = at;
        while (at < end && byte_at(at, depth) == byte) ++at;
        bytes_.push_back(byte);
        next.push_back({first, at});
      }
    }
  }
  children_.push_back(static_cast<State>(bytes_.size()));
  link();
}

void TokenAutomaton::link() {
  shorter_.assign(bytes_.size(), kStart);
  for (State parent = 0; parent < bytes_.size(); ++parent) {
    for (State node = children_[parent]; node < children_[parent + 1]; ++node) {
      if (parent != kStart) shorter_[node] = step(shorter_[parent], bytes_[node]);
      if (longest_[node] == kNone) longest_[node] = longest_[shorter_[node]];
    }
  }
}

TokenAutomaton::State TokenAutomaton::find_child(State state, unsigned char byte) const {
  const auto begin = bytes_.begin() + children_[state], end = bytes_.begin() + children_[state + 1];
  const auto found = std::lower_bound(begin, end, byte);
  return found != end && *found == byte ? static_cast<State>(found - bytes_.begin()) : kNone;
}

}  // namespace ml
