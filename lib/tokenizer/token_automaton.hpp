#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ml {

/// Tells after each byte of a text which tokens it ends with (Aho and Corasick): in linear time, whatever the
/// tokens are. Backward it takes both from their ends: then it tells which tokens begin at a place.
class TokenAutomaton {
 public:
  enum class Direction : std::uint8_t { forward, backward };
  using State = std::uint32_t;
  static constexpr State kStart = 0;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// @param tokens  none of them empty; of equal ones the first counts
  TokenAutomaton(const std::vector<std::string_view>& tokens, Direction direction);

  /// Some two steps for each byte of a text on average.
  State step(State state, unsigned char byte) const {
    while (true) {
      const State child = find_child(state, byte);
      if (child != kNone) return child;
      if (state == kStart) return kStart;
      state = shorter_[state];
    }
  }
  /// @return the index of the longest token that the bytes so far end with, or kNone
  std::uint32_t longest(State state) const { return longest_[state]; }

 private:
  State find_child(State state, unsigned char byte) const;
  void link();

  // Nodes by depth: the children of one lie side by side, by their bytes, behind those of the one before.
  std::vector<unsigned char> bytes_;
  std::vector<State> children_;         // where each node's begin, and the end
  std::vector<State> shorter_;          // the node of the longest shorter end of its bytes
  std::vector<std::uint32_t> longest_;  // as longest() has it
};

}  // namespace ml
