// A tokenizer in the section of a .mog: what its kind needs, found by passes over it and by its own order.

#include "tokenizer/tokenizer_impl.hpp"

#include <algorithm>
#include <vector>

namespace ml {

TokenizerImpl::TokenizerImpl(MogTokens source, std::shared_ptr<const void> bytes)
    : storage(std::move(bytes)), mapped(std::move(source)), contents(mapped->contents()), merges(*mapped) {
  byte_tokens.fill(kNoToken);
  find_symbols();
  if (contents.kind == TokenizerKind::byte_level) {
    pre_tokenizer = pre_tokenizer_for(contents.flags);
  } else {
    find_cuts();
  }
}

// As in index_symbols(): a symbol is a normal token, or an added one that a merge rule uses.
bool TokenizerImpl::serves(std::uint32_t id, Use use) const {
  switch (contents.tokens.attr(id)) {
    case TokenAttr::normal: return true;
    case TokenAttr::added:
      return use == Use::symbol && std::binary_search(added_in_rules_.begin(), added_in_rules_.end(), id);
    case TokenAttr::byte: return false;
  }
  return false;
}

std::uint32_t TokenizerImpl::last_of(MogTokens::Equals equals, Use use) const {
  for (std::uint32_t place = equals.end; place-- > equals.begin;) {
    if (const std::uint32_t id = mapped->sorted(place); serves(id, use)) return id;
  }
  return kNoToken;
}

std::uint32_t TokenizerImpl::find_mapped(std::string_view text, Use use) const {
  const auto place = mapped->find(text);
  if (!place) return kNoToken;
  const auto& repeated = mapped->repeated();
  const auto equals =
      std::lower_bound(repeated.begin(), repeated.end(), *place,
                       [](const MogTokens::Equals& one, std::uint32_t wanted) { return one.begin < wanted; });
  if (equals == repeated.end() || equals->begin != *place) return last_of({*place, *place + 1}, use);
  return ids_of_repeated_[static_cast<std::size_t>(equals - repeated.begin())][static_cast<std::size_t>(use)];
}

void TokenizerImpl::find_symbols() {
  const MltTokens& tokens = contents.tokens;
  for (std::uint32_t i = 0; i < mapped->n_merges(); ++i) {
    const MogTokens::Merge rule = mapped->merge(i);
    for (const std::uint32_t id : {rule.left, rule.right}) {
      if (tokens.attr(id) == TokenAttr::added) added_in_rules_.push_back(id);
    }
  }
  std::sort(added_in_rules_.begin(), added_in_rules_.end());
  added_in_rules_.erase(std::unique(added_in_rules_.begin(), added_in_rules_.end()), added_in_rules_.end());
  for (const MogTokens::Equals& equals : mapped->repeated())
    ids_of_repeated_.push_back({last_of(equals, Use::symbol), last_of(equals, Use::whole_piece)});
  for (std::uint32_t id = tokens.size(); id-- > 0;) {  // of tokens with equal bytes the last counts
    const std::string_view bytes = tokens.bytes(id);
    if (bytes.empty()) continue;
    longest_token = std::max(longest_token, bytes.size());
    if (tokens.attr(id) == TokenAttr::added) added.insert(bytes, id);
    if (tokens.attr(id) == TokenAttr::byte) byte_tokens[static_cast<unsigned char>(bytes[0])] = id;
  }
  if (contents.kind != TokenizerKind::byte_level) return;
  for (std::size_t byte = 0; byte < byte_tokens.size(); ++byte) {
    const char text = static_cast<char>(byte);
    byte_tokens[byte] = find_mapped({&text, 1}, Use::symbol);
  }
}

void TokenizerImpl::find_cuts() {
  if (char_token(0x2581) == kNoToken) return word_cuts.join_all();
  std::vector<bool> made(contents.tokens.size());
  std::string text;
  for (std::uint32_t i = 0; i < mapped->n_merges(); ++i) {
    const std::uint32_t merged = mapped->merge(i).merged;
    if (made[merged]) continue;
    made[merged] = true;
    text.clear();
    append_spaced(text, contents.tokens.bytes(merged));
    word_cuts.join(text);
  }
}

}  // namespace ml
