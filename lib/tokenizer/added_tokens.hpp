#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ml {

/// Finds added tokens in a text: the leftmost match, the longest of those that begin there.
class AddedTokens {
 public:
  AddedTokens() { first_.fill(kNone); }

  /// Adds one; `content` is not empty. The first id of equal contents stays.
  void insert(std::string_view content, std::uint32_t id);

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::uint32_t id;
  };
  /// @return the first match at `from` or after it
  std::optional<Match> find(std::string_view text, std::size_t from) const;

  /// @return true where `content` holds one of the tokens, or ends with the beginning of one (or all of it is
  /// one)
  bool may_overlap(std::string_view content) const;

 private:
  // A trie: the children of a node are a list, most have one.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Node {
    unsigned char byte;
    std::uint32_t id = kNone;
    std::uint32_t child = kNone;
    std::uint32_t sibling = kNone;
  };

  const char* find_first(const char* at, const char* end) const;
  std::uint32_t find_child(std::uint32_t list, unsigned char byte) const;

  std::array<std::uint32_t, 256> first_;  // the node of each first byte
  int only_first_ = -1;  // where all begin with the same byte: that one; -1: none, -2: not so
  std::vector<Node> nodes_;
};

}  // namespace ml
