#include "tokenizer/nfc.hpp"
#include "tokenizer/tokenizer_impl.hpp"
#include "util/utf8.hpp"

namespace ml {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
constexpr std::size_t kKeepBytes = std::size_t(1) << 20;

}  // namespace

std::unique_ptr<EncodeScratch> ScratchPool::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto scratch = std::move(free_.back());
      free_.pop_back();
      return scratch;
    }
  }
  return std::make_unique<EncodeScratch>();
}

void ScratchPool::give_back(std::unique_ptr<EncodeScratch> scratch) const {
  if (scratch->text.capacity() > kKeepBytes) scratch->text = {};
  if (scratch->symbols.capacity() > kKeepBytes) scratch->symbols = {};
  scratch->merger.trim();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
}

/// One encode() call.
class Encoder {
 public:
  Encoder(const TokenizerImpl& impl, EncodeScratch& scratch, std::vector<std::uint32_t>& out)
      : impl_(impl), scratch_(scratch), out_(out), flags_(impl.contents.flags) {}

  void encode(std::string_view text, bool match_added) {
    std::size_t at = 0;
    while (match_added) {
      const auto match = impl_.added.find(text, at);
      if (!match) break;
      encode_gap(text.substr(at, match->begin - at), at == 0);
      out_.push_back(match->id);
      at = match->end;
    }
    encode_gap(text.substr(at), at == 0);
  }

 private:
  // Text between added tokens; `first` where nothing is before it.
  void encode_gap(std::string_view gap, bool first) {
    if (gap.empty()) return;
    if (impl_.contents.kind == TokenizerKind::byte_level) {
      encode_byte_level(flags_ & kMltNfc ? normalize_nfc(gap, scratch_.text) : gap);
    } else {
      encode_words(with_space_marks(gap, first));
    }
  }

  void encode_byte_level(std::string_view gap) {
    const char* at = gap.data();
    const char* const end = at + gap.size();
    limit_ = end;
    while (at != end) {
      const char* const stretch = impl_.pre_tokenizer.stretch ? impl_.pre_tokenizer.stretch(at, end) : end;
      while (at != stretch) {
        const char* const after = impl_.pre_tokenizer.piece(at, stretch);
        encode_piece({at, static_cast<std::size_t>(after - at)});
        at = after;
      }
    }
  }

  std::string_view with_space_marks(std::string_view gap, bool first) {
    std::string& text = scratch_.text;
    text.clear();
    const bool marked = gap.starts_with(' ') || gap.starts_with(kSpaceMark);
    const bool prefix = flags_ & kMltPrefixFirst ? first && !marked : (flags_ & kMltNoPrefix) == 0;
    if (prefix) text += kSpaceMark;
    while (!gap.empty()) {
      const std::size_t space = std::min(gap.find(' '), gap.size());
      text += gap.substr(0, space);
      if (space < gap.size()) text += kSpaceMark;
      gap.remove_prefix(std::min(space + 1, gap.size()));
    }
    return text;
  }

  void encode_words(std::string_view text) {
    if (flags_ & kMltIgnoreMerges) {
      const std::uint32_t whole = impl_.whole_pieces.find(impl_.contents.tokens, text);
      if (whole != PieceTable::kNone) return out_.push_back(whole);
    }
    limit_ = text.data() + text.size();
    std::size_t begin = 0;
    for (std::size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
         at = text.find(kSpaceMark, at + 3)) {
      const bool after_space = at >= 3 && text.substr(at - 3, 3) == kSpaceMark;
      if (after_space || impl_.joins_space[static_cast<unsigned char>(text[at - 1])]) continue;
      encode_piece(text.substr(begin, at - begin));
      begin = at;
    }
    encode_piece(text.substr(begin));
  }

  void encode_piece(std::string_view piece) {
    if (piece.size() > PieceCache::kMaxBytes) return encode_long(piece);
    const PieceCache::Key key = PieceCache::key_of(piece, limit_);
    const auto known = scratch_.cache.find(key);
    if (!known.empty()) {
      for (const std::uint32_t id : known) out_.push_back(id);
      return;
    }
    const std::size_t before = out_.size();
    encode_long(piece);
    scratch_.cache.insert(key, std::span(out_).subspan(before));
  }

  // A piece that PieceCache does not hold: too long, of too many tokens, or new.
  void encode_long(std::string_view piece) {
    if (piece.size() > LongPieceCache::kMaxBytes) return encode_uncached(piece);
    const LongPieceCache::Hash hash = LongPieceCache::hash_of(piece);
    const auto known = scratch_.long_cache.find(piece, hash);
    if (!known.empty()) {
      out_.insert(out_.end(), known.begin(), known.end());
      return;
    }
    const std::size_t before = out_.size();
    encode_uncached(piece);
    scratch_.long_cache.insert(piece, hash, std::span(out_).subspan(before));
  }

  void encode_uncached(std::string_view piece) {
    const bool byte_level = impl_.contents.kind == TokenizerKind::byte_level;
    if (byte_level && (flags_ & kMltIgnoreMerges)) {
      const std::uint32_t whole = impl_.whole_pieces.find(impl_.contents.tokens, piece);
      if (whole != PieceTable::kNone) return out_.push_back(whole);
    }
    std::vector<std::uint32_t>& symbols = scratch_.symbols;
    symbols.clear();
    byte_level ? add_bytes(piece) : add_chars(piece);
    scratch_.merger.merge(impl_.merges, symbols);
    out_.insert(out_.end(), symbols.begin(), symbols.end());
  }

  // Bytes without a token vanish, and what is left and right of them may merge.
  void add_bytes(std::string_view bytes) {
    for (const char c : bytes) {
      const std::uint32_t id = impl_.byte_tokens[static_cast<unsigned char>(c)];
      if (id != kNoToken) scratch_.symbols.push_back(id);
    }
  }

  void add_chars(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
      const char* const begin = at;
      const auto found = impl_.char_tokens.find(next_char(at));
      if (found != impl_.char_tokens.end()) {
        scratch_.symbols.push_back(found->second);
      } else {
        add_bytes({begin, static_cast<std::size_t>(at - begin)});
      }
    }
  }

  const TokenizerImpl& impl_;
  EncodeScratch& scratch_;
  std::vector<std::uint32_t>& out_;
  std::uint32_t flags_;
  const char* limit_ = nullptr;  // the end of the text that holds the pieces
};

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::uint32_t> out;
  const bool with_bos = options.bos.value_or((flags() & kMltBos) != 0);
  if (with_bos && bos()) out.push_back(*bos());
  std::string lossy;
  if (find_invalid_utf8_byte(text)) {
    append_lossy_utf8(lossy, text);
    text = lossy;
  }
  auto scratch = impl_->scratches.take();
  Encoder(*impl_, *scratch, out).encode(text, options.added);
  impl_->scratches.give_back(std::move(scratch));
  return out;
}

}  // namespace ml
