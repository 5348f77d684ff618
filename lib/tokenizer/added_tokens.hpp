#pragma once

#include "tokenizer/token_automaton.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace ml {

/// Finds added tokens in a text: the leftmost match, the longest of those that begin there.
class AddedTokens {
 public:
  AddedTokens() { first_.fill(kNone); }

  /// Adds one, before the first search; `content` is not empty and outlives this. The first id of equal
  /// contents stays.
  void insert(std::string_view content, std::uint32_t id);

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::uint32_t id;
  };
  class Search;

  /// @return the id of the one that `content` is
  std::optional<std::uint32_t> find(std::string_view content) const;

  /// @return those of the texts that hold one of the tokens, or end with the beginning of one (or are one)
  std::vector<bool> may_overlap(const std::vector<std::string_view>& texts) const;

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
  std::uint32_t find_child(std::uint32_t list, unsigned char byte, std::uint64_t& n_steps) const;
  const TokenAutomaton& backward() const;

  std::array<std::uint32_t, 256> first_;  // the node of each first byte
  int only_first_ = -1;  // where all begin with the same byte: that one; -1: none, -2: not so
  std::vector<Node> nodes_;

  std::vector<std::string_view> contents_;
  std::vector<std::uint32_t> ids_;
  std::size_t longest_ = 0;
  mutable std::once_flag backward_once_;
  mutable std::unique_ptr<const TokenAutomaton> backward_;
};

/// The matches in one text, from left to right. Each place is tried in the trie, which is quick where tokens
/// are short or rare. Where many long ones begin and do not end, that time would be their length for each
/// byte: then a stretch of the text is read backward, which finds the longest token at each of its places.
class AddedTokens::Search {
 public:
  /// Both outlive this.
  Search(const AddedTokens& tokens, std::string_view text) : tokens_(tokens), text_(text) {}

  /// @param from  not before that of the last call
  /// @return the first match at `from` or after it
  std::optional<Match> next(std::size_t from);

 private:
  std::optional<Match> next_in_stretch(std::size_t from);
  void read_stretch(std::size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  std::uint64_t n_steps_ = 0;  // in the trie
  bool by_stretches_ = false;
  std::size_t begin_ = 0, end_ = 0;   // of the stretch
  std::vector<std::uint32_t> found_;  // the token at each of its places
};

}  // namespace ml
