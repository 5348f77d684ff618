#include "tokenizer/added_tokens.hpp"

#include <cstring>

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
  if (first_[first] == kNone) {
    first_[first] = add_node(first, kNone);
    only_first_ = only_first_ == -1 ? first : -2;
  }
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

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, std::size_t from) const {
  if (nodes_.empty()) return std::nullopt;
  const char* const end = text.data() + text.size();
  for (const char* here = text.data() + from; (here = find_first(here, end)) != end; ++here) {
    const auto begin = static_cast<std::size_t>(here - text.data());
    std::uint32_t node = first_[static_cast<unsigned char>(*here)];
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
