// A tokenizer in the section of a .mog: what its kind needs, found by passes over it and by its own order.

#include "tokenizer/tokenizer_impl.hpp"

#include <algorithm>

namespace ml {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

}  // namespace

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

// As in index_symbols(): a normal token, or an added one that a merge rule uses.
bool TokenizerImpl::is_symbol(std::uint32_t id) const {
  switch (contents.tokens.attr(id)) {
    case TokenAttr::normal: return true;
    case TokenAttr::added: return std::binary_search(added_in_rules_.begin(), added_in_rules_.end(), id);
    case TokenAttr::byte: return false;
  }
  return false;
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
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    const std::string_view bytes = tokens.bytes(id);
    if (bytes.empty()) continue;
    longest_token = std::max(longest_token, bytes.size());
    if (tokens.attr(id) == TokenAttr::added) added.insert(bytes, id);
    if (tokens.attr(id) == TokenAttr::byte) byte_tokens[static_cast<unsigned char>(bytes[0])] = id;
  }
  if (contents.kind != TokenizerKind::byte_level) return;
  for (std::size_t byte = 0; byte < byte_tokens.size(); ++byte) {
    const char text = static_cast<char>(byte);
    byte_tokens[byte] =
        mapped->find({&text, 1}, [this](std::uint32_t id) { return is_symbol(id); }).value_or(kNoToken);
  }
}

void TokenizerImpl::find_cuts() {
  if (char_token(0x2581) == kNoToken) return word_cuts.join_all();
  std::string text;
  for (std::uint32_t i = 0; i < mapped->n_merges(); ++i) {
    std::string_view rest = contents.tokens.bytes(mapped->merge(i).merged);
    text.clear();
    while (!rest.empty()) {
      const std::size_t mark = std::min(rest.find(kSpaceMark), rest.size());
      text += rest.substr(0, mark);
      if (mark < rest.size()) text += ' ';
      rest.remove_prefix(std::min(mark + kSpaceMark.size(), rest.size()));
    }
    word_cuts.join(text);
  }
}

}  // namespace ml
