#include "tokenizer/added_tokens.hpp"

namespace ml {

std::uint32_t AddedTokens::find_child(std::uint32_t list, unsigned char byte) const {
  while (list != kNone && nodes_[list].byte != byte) list = nodes_[list].sibling;
  return list;
}

void AddedTokens::insert(std::string_view content, std::uint32_t id) {
  const auto add_node = [&](unsigned char byte, std::uint32_t sibling) {
    nodes_.push_back({byte, kNone, kNone, sibling});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  };
  const auto first = static_cast<unsigned char>(content[0]);
  if (first_[first] == kNone) first_[first] = add_node(first, kNone);
  std::uint32_t node = first_[first];
  for (const char c : content.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t child = find_child(nodes_[node].child, byte);
    if (child == kNone) {
      child = add_node(byte, nodes_[node].child);
      nodes_[node].child = child;
    }
    node = child;
  }
  if (nodes_[node].id == kNone) nodes_[node].id = id;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, std::size_t from) const {
  if (nodes_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    std::uint32_t node = first_[static_cast<unsigned char>(text[begin])];
    if (node == kNone) continue;
    std::optional<Match> longest;
    for (std::size_t at = begin + 1;; ++at) {
      if (nodes_[node].id != kNone) longest = {begin, at, nodes_[node].id};
      if (at == text.size()) break;
      node = find_child(nodes_[node].child, static_cast<unsigned char>(text[at]));
      if (node == kNone) break;
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

bool AddedTokens::may_overlap(std::string_view content) const {
  for (std::size_t begin = 0; begin < content.size(); ++begin) {
    std::uint32_t node = first_[static_cast<unsigned char>(content[begin])];
    for (std::size_t at = begin + 1; node != kNone; ++at) {
      if (nodes_[node].id != kNone || at == content.size()) return true;
      node = find_child(nodes_[node].child, static_cast<unsigned char>(content[at]));
    }
  }
  return false;
}

}  // namespace ml
