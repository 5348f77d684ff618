#include <ml/tokenizer.hpp>

#include "convert/tokenizer.hpp"
#include "formats/mog.hpp"
#include "tokenizer/tokenizer_impl.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

namespace ml {

namespace {

// The code point of a text of one character.
std::optional<char32_t> single_char(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  const Utf8Step step = step_utf8(bytes);
  if (!step.valid || step.n_bytes != bytes.size()) return std::nullopt;
  const char* at = bytes.data();
  return next_char(at);
}

}  // namespace

void append_spaced(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find(kSpaceMark), text.size());
    out += text.substr(0, mark);
    if (mark < text.size()) out += ' ';
    text.remove_prefix(std::min(mark + kSpaceMark.size(), text.size()));
  }
}

TokenizerImpl::TokenizerImpl(MltContents source) : contents(std::move(source)), merges(contents.merges) {
  byte_tokens.fill(kNoToken);
  index_symbols();
  if (contents.kind == TokenizerKind::byte_level) {
    pre_tokenizer = pre_tokenizer_for(contents.flags);
    index_byte_rules();
  } else {
    index_cuts();
  }
}

std::uint32_t TokenizerImpl::char_token(char32_t cp) const {
  if (!mapped) return char_tokens.find(cp);
  std::string text;
  append_utf8(text, cp);
  return find_mapped(text, Use::symbol);
}

std::uint32_t TokenizerImpl::whole_piece(std::string_view piece) const {
  if (!mapped) return whole_pieces.find(contents.tokens, piece);
  return find_mapped(piece, Use::whole_piece);
}

void TokenizerImpl::index_symbols() {
  const MltTokens& tokens = contents.tokens;
  // An added token is a symbol of plain text too where a merge rule uses it: then the model's own vocabulary
  // holds it.
  std::vector<bool> in_rules(tokens.size());
  for (const MltMerge& merge : contents.merges) in_rules[merge.left] = in_rules[merge.right] = true;
  const bool byte_level = contents.kind == TokenizerKind::byte_level;
  const bool whole = (contents.flags & kMltIgnoreMerges) != 0;
  if (whole) whole_pieces = PieceTable(tokens.size());
  for (std::uint32_t id = tokens.size(); id-- > 0;) {  // of tokens with equal bytes the last counts
    const std::string_view bytes = tokens.bytes(id);
    const TokenAttr attr = tokens.attr(id);
    if (bytes.empty()) continue;
    longest_token = std::max(longest_token, bytes.size());
    if (attr == TokenAttr::added) added.insert(bytes, id);
    if (attr == TokenAttr::normal && whole) whole_pieces.insert(tokens, id);
    if (attr == TokenAttr::byte) {
      byte_tokens[static_cast<unsigned char>(bytes[0])] = id;
      continue;
    }
    if (attr == TokenAttr::added && !in_rules[id]) continue;
    if (byte_level) {
      std::uint32_t& slot = byte_tokens[static_cast<unsigned char>(bytes[0])];
      if (bytes.size() == 1 && slot == kNoToken) slot = id;
    } else if (const auto cp = single_char(bytes)) {
      char_tokens.insert(*cp, id);
    }
  }
}

void TokenizerImpl::index_byte_rules() {
  byte_rules.resize(std::size_t(256) * 256, {MergeTable::kNoRank, 0});
  std::vector<std::uint16_t> byte_plus_1(contents.tokens.size());
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (byte_tokens[byte] != kNoToken) byte_plus_1[byte_tokens[byte]] = static_cast<std::uint16_t>(byte + 1);
  }
  for (std::size_t rank = 0; rank < contents.merges.size(); ++rank) {
    const MltMerge& merge = contents.merges[rank];
    const std::size_t left = byte_plus_1[merge.left], right = byte_plus_1[merge.right];
    if (left == 0 || right == 0) continue;
    MergeTable::Rule& rule = byte_rules[256 * (left - 1) + right - 1];
    if (rule.rank == MergeTable::kNoRank) rule = {static_cast<std::uint32_t>(rank), merge.merged};
  }
}

void TokenizerImpl::index_cuts() {
  // Without a token a U+2581 is three bytes; what they join with is not worth the search.
  if (char_tokens.find(0x2581) == kNoToken) return word_cuts.join_all();
  std::vector<bool> made(contents.tokens.size());
  for (const MltMerge& merge : contents.merges) made[merge.merged] = true;
  std::string text;
  for (std::uint32_t id = 0; id < made.size(); ++id) {
    if (!made[id]) continue;
    text.clear();
    append_spaced(text, contents.tokens.bytes(id));
    word_cuts.join(text);
  }
}

const MltTokens& TokenizerImpl::spelled_tokens() const {
  std::call_once(spelled_once_, [&] {
    std::string text;
    for (std::uint32_t id = 0; id < contents.tokens.size(); ++id) {
      text.clear();
      append_spaced(text, contents.tokens.bytes(id));
      spelled_.push_back(contents.tokens.attr(id), text);
    }
  });
  return spelled_;
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerImpl> impl) : impl_(std::move(impl)) {}

namespace {

Result<std::shared_ptr<const TokenizerImpl>> open_mapped(std::span<const std::byte> file,
                                                         std::shared_ptr<const void> storage) {
  ML_TRY(const auto section, mog_tokenizer_section(file));
  if (section.empty()) return Error{Status::format, "the .mog holds no tokenizer"};
  ML_TRY(MogTokens tokens, MogTokens::read(section));
  return std::make_shared<const TokenizerImpl>(std::move(tokens), std::move(storage));
}

}  // namespace

Result<Tokenizer> Tokenizer::open(const std::string& path) {
  ML_TRY(const TokenizerSource source, open_tokenizer(path));
  if (is_mog(source.input->data())) {
    auto impl = open_mapped(source.input->data(), source.input);
    if (!impl) return with_path(std::move(impl.error()), path);
    return Tokenizer(std::move(*impl));
  }
  ML_TRY(LoadedTokenizer loaded, load_tokenizer(source, {}));
  return Tokenizer(std::make_shared<const TokenizerImpl>(std::move(loaded.contents)));
}

Result<Tokenizer> Tokenizer::from_bytes(std::span<const std::byte> bytes) {
  if (is_mog(bytes)) {
    const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    ML_TRY(auto impl, open_mapped(*copy, copy));
    return Tokenizer(std::move(impl));
  }
  ML_TRY(LoadedTokenizer loaded, load_tokenizer(bytes, {}, {}));
  return Tokenizer(std::make_shared<const TokenizerImpl>(std::move(loaded.contents)));
}

std::uint32_t Tokenizer::n_vocab() const { return impl_->contents.tokens.size(); }

std::uint32_t Tokenizer::n_merges() const { return impl_->n_merges(); }

TokenizerKind Tokenizer::kind() const { return impl_->contents.kind; }

std::uint32_t Tokenizer::flags() const { return impl_->contents.flags; }

std::optional<std::uint32_t> Tokenizer::bos() const {
  const std::int32_t id = impl_->contents.bos;
  return id < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(id));
}

std::optional<std::uint32_t> Tokenizer::eos() const {
  const std::int32_t id = impl_->contents.eos;
  return id < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(id));
}

std::string_view Tokenizer::piece(std::uint32_t id) const {
  return id < n_vocab() ? impl_->contents.tokens.bytes(id) : std::string_view();
}

TokenAttr Tokenizer::attr(std::uint32_t id) const {
  return id < n_vocab() ? impl_->contents.tokens.attr(id) : TokenAttr::normal;
}

std::optional<std::uint32_t> Tokenizer::find_added(std::string_view content) const {
  return impl_->added.find(content);
}

std::optional<std::uint64_t> find_invalid_utf8(std::string_view text) {
  const auto at = find_invalid_utf8_byte(text);
  return at ? std::optional<std::uint64_t>(*at) : std::nullopt;
}

}  // namespace ml
