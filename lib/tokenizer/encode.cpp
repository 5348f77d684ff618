#include "tokenizer/id_sink.hpp"
#include "tokenizer/nfc.hpp"
#include "tokenizer/tokenizer_impl.hpp"
#include "util/utf8.hpp"

#include <bit>

namespace ml {

namespace {

constexpr std::size_t kKeepBytes = std::size_t(1) << 20;
constexpr std::size_t kMuch = std::size_t(1) << 18;   // bytes after which more may be expected
constexpr std::size_t kBatch = 512;                   // pieces that are found before they are looked up
constexpr std::size_t kReach = std::size_t(1) << 30;  // bytes of a batch
constexpr std::size_t kGroup = 32;
static_assert(kGroup * PieceCache::kInline + 1 <= IdSink::kMaxRoom);

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
  if (scratch->rules.capacity() > kKeepBytes) scratch->rules = {};
  scratch->merger.trim();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
}

/// One encode() call.
class Encoder {
 public:
  Encoder(const TokenizerImpl& impl, EncodeScratch& scratch, IdSink& out, Target target)
      : impl_(impl),
        scratch_(scratch),
        out_(out),
        flags_(impl.contents.flags),
        byte_level_(impl.contents.kind == TokenizerKind::byte_level),
        ascii_spans_(ascii_spans_for(impl.pre_tokenizer.ascii, target)) {}

  void encode(std::string_view text, bool match_added) {
    read_until(text);
    std::size_t at = 0;
    AddedTokens::Search search(impl_.added, text);
    while (match_added) {
      const auto match = search.next(at);
      if (!match) break;
      encode_gap(text.substr(at, match->begin - at), at == 0);
      out_.push(match->id);
      at = match->end;
    }
    encode_gap(text.substr(at), at == 0);
  }

 private:
  struct Batch {
    const char* text;
    std::size_t n;
    std::array<std::uint32_t, kBatch> ends;  // of the pieces, from `text` on

    void begin(const char* at) {
      text = at;
      n = 0;
    }
    bool has_room(const char* at) const {
      return n + 64 <= kBatch && static_cast<std::size_t>(at - text) < kReach;
    }
    void push(const char* end) { ends[n++] = static_cast<std::uint32_t>(end - text); }
  };

  // Text between added tokens; `first` where nothing is before it.
  void encode_gap(std::string_view gap, bool first) {
    if (gap.empty()) return;
    if (!byte_level_) return encode_words(gap, first);
    if ((flags_ & kMltNfc) == 0) return encode_byte_level(gap);
    const std::string_view normal = normalize_nfc(gap, scratch_.text);
    if (normal.data() == gap.data()) return encode_byte_level(gap);
    encode_elsewhere(normal, [&] { encode_byte_level(normal); });
  }

  // Pieces of up to 16 bytes are read as 16 bytes. The last ones of the text are read in a copy, which has
  // zeros behind them.
  void read_until(std::string_view text) {
    limit_ = text.data() + text.size();
    const std::size_t n = std::min(text.size(), PieceCache::kMaxBytes);
    tail_from_ = limit_ - n;
    tail_.fill(0);
    std::copy_n(tail_from_, n, tail_.data());
  }
  const char* readable(const char* at) const {
    if (limit_ - at >= static_cast<std::ptrdiff_t>(PieceCache::kMaxBytes)) [[likely]]
      return at;
    return tail_.data() + (at - tail_from_);
  }

  // Works on a text that lies outside the one that is encoded.
  void encode_elsewhere(std::string_view text, const auto& work) {
    const char* const limit = limit_;
    const char* const tail_from = tail_from_;
    const auto tail = tail_;
    read_until(text);
    work();
    limit_ = limit;
    tail_from_ = tail_from;
    tail_ = tail;
  }

  void encode_byte_level(std::string_view gap) {
    const char* at = gap.data();
    const char* const end = at + gap.size();
    const char* stretch = impl_.pre_tokenizer.stretch ? at : end;  // where the last one that was found ends
    Batch batch;
    while (at != end) {
      batch.begin(at);
      while (at != end && batch.has_room(at)) {
        if (ascii_spans_) {
          at += find_ascii(at, end, batch);
          if (at == end || !batch.has_room(at)) break;
        }
        // What the shortcut leaves, one piece at a time.
        do {
          if (at >= stretch) stretch = impl_.pre_tokenizer.stretch(at, end);
          at = impl_.pre_tokenizer.piece(at, stretch);
          batch.push(at);
        } while (at != end && batch.has_room(at) && (!ascii_spans_ || static_cast<signed char>(*at) < 0));
      }
      encode_batch(batch);
    }
  }

  // The last bytes are looked at in a block of their own, behind which all is unknown.
  std::size_t find_ascii(const char* at, const char* end, Batch& batch) const {
    const auto from = static_cast<std::uint32_t>(at - batch.text);
    const auto n_bytes = static_cast<std::size_t>(end - at);
    if (n_bytes >= spans::kBlock) return ascii_spans_(at, n_bytes, from, batch.ends.data(), kBatch, &batch.n);
    if (n_bytes < spans::kLeast) return 0;
    std::array<char, spans::kBlock> block;
    block.fill('\x80');
    std::memcpy(block.data(), at, n_bytes);
    return ascii_spans_(block.data(), block.size(), from, batch.ends.data(), kBatch, &batch.n);
  }

  // Kind 1: a space stands for U+2581 from here on.
  void encode_words(std::string_view gap, bool first) {
    const bool marked = gap.starts_with(' ') || gap.starts_with(kSpaceMark);
    const bool prefix = flags_ & kMltPrefixFirst ? first && !marked : (flags_ & kMltNoPrefix) == 0;
    if (gap.find(kSpaceMark) != gap.npos) {
      scratch_.text.clear();
      append_spaced(scratch_.text, gap);
      return encode_elsewhere(scratch_.text, [&] { encode_spaced(scratch_.text, prefix); });
    }
    encode_spaced(gap, prefix);
  }

  void encode_spaced(std::string_view gap, bool prefix) {
    if ((flags_ & kMltIgnoreMerges) && encode_whole(gap, prefix)) return;
    const char* at = gap.data();
    const char* const end = at + gap.size();
    const WordCuts& cuts = impl_.word_cuts;
    if (prefix) {
      // The first word, behind the prefix.
      std::size_t n = 0;
      if (cuts.joins(' ', *at)) {
        for (n = 1; n < gap.size() && cuts.joins(at[n - 1], at[n]);) ++n;
      }
      std::string word = " ";
      word += gap.substr(0, n);
      encode_elsewhere(word, [&] { encode_piece(word.data(), word.size()); });
      at += n;
    }
    Batch batch;
    while (at != end) {
      batch.begin(at);
      const char* here = at + 1;  // no cut is known before it
      for (; here < end && limit_ - here >= 64 && batch.has_room(here); here += 64) {
        const auto from = static_cast<std::uint32_t>(here - batch.text);
        std::uint64_t left = cuts.cuts64(here);
        if (end - here < 64) left &= (std::uint64_t(1) << (end - here)) - 1;
        for (; left != 0; left &= left - 1) {
          batch.ends[batch.n++] = from + static_cast<std::uint32_t>(std::countr_zero(left));
        }
      }
      for (; here < end && batch.n < kBatch - 1 && limit_ - here < 64; ++here) {
        if (!cuts.joins(here[-1], *here)) batch.push(here);
      }
      if (here >= end) batch.push(end);
      if (batch.n == 0) {
        // One word of a gigabyte.
        while (here < end && cuts.joins(here[-1], *here)) ++here;
        encode_uncached({at, static_cast<std::size_t>(here - at)});
        at = here;
        continue;
      }
      encode_batch(batch);
      at = batch.text + batch.ends[batch.n - 1];
    }
  }

  // @return whether all of the text is one token
  bool encode_whole(std::string_view gap, bool prefix) {
    if (gap.size() > impl_.longest_token) return false;
    std::string text(prefix ? kSpaceMark : "");
    for (const char c : gap) {
      if (c == ' ') {
        text += kSpaceMark;
      } else {
        text += c;
      }
    }
    const std::uint32_t whole = impl_.whole_piece(text);
    if (whole != kNoToken) out_.push(whole);
    return whole != kNoToken;
  }

  void encode_batch(const Batch& batch) {
    const char* piece = batch.text;
    for (std::size_t first = 0; first < batch.n; first += kGroup) {
      const std::span ends(batch.ends);
      piece = encode_group(batch.text, piece, ends.subspan(first, std::min(kGroup, batch.n - first)));
    }
  }

  // Asks for the cache lines of all pieces before it looks at the first: most of the time is theirs.
  const char* encode_group(const char* text, const char* piece, std::span<const std::uint32_t> ends) {
    const PieceCache& cache = scratch_.cache;
    std::array<PieceCache::Key, kGroup> keys;
    const char* begin = piece;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const char* const end = text + ends[i];
      const auto n_bytes = static_cast<std::size_t>(end - begin);
      keys[i] =
          n_bytes <= PieceCache::kMaxBytes ? PieceCache::key_of(readable(begin), n_bytes) : PieceCache::Key{};
      cache.prefetch(keys[i]);
      begin = end;
    }
    std::uint32_t* out = out_.room(kGroup * PieceCache::kInline + 1);
    std::uint32_t* written = out;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const char* const end = text + ends[i];
      const PieceCache::Entry* const known = cache.find(keys[i]);
      if (known != nullptr && known->n_tokens() <= PieceCache::kInline) [[likely]] {
        std::memcpy(written, known->words.data(), sizeof known->words);
        written += known->n_tokens();
      } else {
        out_.grow(static_cast<std::size_t>(written - out));
        encode_piece(piece, static_cast<std::size_t>(end - piece));
        out = written = out_.room(kGroup * PieceCache::kInline + 1);
      }
      piece = end;
    }
    out_.grow(static_cast<std::size_t>(written - out));
    return piece;
  }

  void encode_piece(const char* piece, std::size_t n_bytes) {
    if (n_bytes > PieceCache::kMaxBytes) return encode_long({piece, n_bytes});
    const PieceCache::Key key = PieceCache::key_of(readable(piece), n_bytes);
    PieceCache& cache = scratch_.cache;
    if (const PieceCache::Entry* const known = cache.find(key)) return out_.append(cache.tokens(*known));
    cache.insert(key, encode_uncached({piece, n_bytes}));
  }

  // A piece that PieceCache does not hold.
  void encode_long(std::string_view piece) {
    if (piece.size() > LongPieceCache::kMaxBytes) {
      encode_uncached(piece);
      return;
    }
    const LongPieceCache::Hash hash = LongPieceCache::hash_of(piece);
    const auto known = scratch_.long_cache.find(piece, hash);
    if (!known.empty()) return out_.append(known);
    scratch_.long_cache.insert(piece, hash, encode_uncached(piece));
  }

  // @return the tokens, until the next call
  std::span<const std::uint32_t> encode_uncached(std::string_view piece) {
    std::vector<std::uint32_t>& symbols = scratch_.symbols;
    symbols.clear();
    if (byte_level_ && (flags_ & kMltIgnoreMerges)) {
      const std::uint32_t whole = impl_.whole_piece(piece);
      if (whole != kNoToken) symbols.push_back(whole);
    }
    if (symbols.empty()) {
      byte_level_ ? add_piece(piece) : add_chars(piece);
      scratch_.merger.merge(impl_.merges, symbols, scratch_.rules);
    }
    out_.append(symbols);
    return symbols;
  }

  // Kind 2. Bytes without a token vanish, and what is left and right of them may merge.
  void add_piece(std::string_view piece) {
    scratch_.rules.clear();
    int previous = -1;
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      const std::uint32_t id = impl_.byte_tokens[byte];
      if (id == kNoToken) continue;
      if (previous >= 0) scratch_.rules.push_back(impl_.byte_rule(static_cast<unsigned>(previous), byte));
      scratch_.symbols.push_back(id);
      previous = byte;
    }
  }

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
      const bool space = *at == ' ';
      const char32_t cp = next_char(at);
      const std::uint32_t id = impl_.char_token(space ? 0x2581 : cp);
      if (id != kNoToken) {
        scratch_.symbols.push_back(id);
      } else {
        add_bytes(space ? kSpaceMark : std::string_view(begin, static_cast<std::size_t>(at - begin)));
      }
    }
    const std::vector<std::uint32_t>& symbols = scratch_.symbols;
    scratch_.rules.clear();
    for (std::size_t i = 1; i < symbols.size(); ++i) {
      scratch_.rules.push_back(impl_.merges.find(symbols[i - 1], symbols[i]));
    }
  }

  const TokenizerImpl& impl_;
  EncodeScratch& scratch_;
  IdSink& out_;
  std::uint32_t flags_;
  bool byte_level_;
  spans::Find ascii_spans_;
  // See read_until().
  const char* limit_ = nullptr;
  const char* tail_from_ = nullptr;
  std::array<char, 2 * PieceCache::kMaxBytes> tail_;
};

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::uint32_t> ids;
  encode_to(ids, text, options);
  return ids;
}

void Tokenizer::encode_to(std::vector<std::uint32_t>& ids, std::string_view text,
                          const EncodeOptions& options) const {
  const bool with_bos = options.bos.value_or((flags() & kMltBos) != 0);
  if (with_bos && bos()) ids.push_back(*bos());
  std::string lossy;
  if (find_invalid_utf8_byte(text)) {
    append_lossy_utf8(lossy, text);
    text = lossy;
  }
  auto scratch = impl_->scratches.take();
  if (text.size() >= kMuch) ids.reserve(ids.size() + text.size() / 4);
  scratch->n_bytes += text.size();
  if (scratch->n_bytes >= kMuch) scratch->cache.expect_much();
  IdSink out(ids);
  Encoder(*impl_, *scratch, out, options.target).encode(text, options.added);
  out.flush();
  impl_->scratches.give_back(std::move(scratch));
}

}  // namespace ml
