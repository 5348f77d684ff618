#include "tokenizer/tokenizer_impl.hpp"
#include "util/utf8.hpp"

#include <algorithm>

namespace ml {

struct StreamDecoder::Impl {
  explicit Impl(std::shared_ptr<const TokenizerImpl> tokenizer_impl)
      : tokenizer(std::move(tokenizer_impl)), contents(tokenizer->contents) {
    reset();
  }

  void reset() {
    pending.clear();
    strip = contents.kind == TokenizerKind::sentencepiece && (contents.flags & kMltNoPrefix) == 0;
  }

  // Many ids at once: first their bytes together, then what the kind makes of them.
  void push_all(std::span<const std::uint32_t> ids, std::string& out) {
    if (contents.kind == TokenizerKind::byte_level) {
      append(contents.tokens, ids, pending);
      take_characters(out);
      return;
    }
    if (tokenizer->mapped) {
      for (const std::uint32_t id : ids) push_mapped(id, out);
      return;
    }
    const MltTokens& spelled = tokenizer->spelled_tokens();
    while (!ids.empty()) {
      // One by one while the next text is special: the first one, or one behind byte tokens.
      std::size_t n = 0;
      if (!strip && pending.empty()) {
        while (n < ids.size() && !is_byte(spelled, ids[n])) ++n;
        // A run of byte tokens that ends here and is ASCII is text like any other.
        for (std::size_t end = n; end < ids.size() && is_ascii_byte(spelled, ids[end]);) {
          while (end < ids.size() && is_ascii_byte(spelled, ids[end])) ++end;
          if (end == ids.size() || !is_text(spelled, ids[end])) break;
          while (end < ids.size() && !is_byte(spelled, ids[end])) ++end;
          n = end;
        }
        append(spelled, ids.first(n), out);
      }
      ids = ids.subspan(n);
      if (ids.empty()) break;
      push(ids.front(), out);
      ids = ids.subspan(1);
    }
  }

  static bool is_byte(const MltTokens& tokens, std::uint32_t id) {
    return id < tokens.size() && tokens.attr(id) == TokenAttr::byte;
  }
  static bool is_ascii_byte(const MltTokens& tokens, std::uint32_t id) {
    return is_byte(tokens, id) && static_cast<signed char>(tokens.bytes(id)[0]) >= 0;
  }

  static bool is_text(const MltTokens& tokens, std::uint32_t id) {
    return id < tokens.size() && tokens.attr(id) != TokenAttr::byte && tokens.n_bytes(id) != 0;
  }

  // Ids past the vocabulary give nothing.
  static void append(const MltTokens& tokens, std::span<const std::uint32_t> ids, std::string& out) {
    constexpr std::size_t kAtOnce = 4096;
    for (; !ids.empty(); ids = ids.subspan(std::min(kAtOnce, ids.size()))) {
      const auto part = ids.first(std::min(kAtOnce, ids.size()));
      std::uint64_t n_bytes = 0;
      for (const std::uint32_t id : part) n_bytes += id < tokens.size() ? tokens.n_bytes(id) : 0;
      const std::size_t before = out.size();
      if (out.capacity() < before + n_bytes + 16)
        out.reserve(std::max<std::size_t>(before + n_bytes + 16, 2 * before));
      out.resize(before + n_bytes + 16);
      char* at = out.data() + before;
      for (const std::uint32_t id : part) {
        if (id < tokens.size()) at = tokens.copy(id, at);
      }
      out.resize(before + n_bytes);
    }
  }

  // Kind 1, from a .mog: spelled without a copy of the vocabulary.
  void push_mapped(std::uint32_t id, std::string& out) {
    if (id >= contents.tokens.size()) return;
    const std::string_view bytes = contents.tokens.bytes(id);
    if (contents.tokens.attr(id) == TokenAttr::byte) {
      pending += bytes;
    } else if (!bytes.empty()) {
      flush(out);
      std::string text;
      append_spaced(text, bytes);
      emit(text, out);
    }
  }

  // Kind 1.
  void push(std::uint32_t id, std::string& out) {
    const MltTokens& spelled = tokenizer->spelled_tokens();
    if (id >= spelled.size()) return;
    if (spelled.attr(id) == TokenAttr::byte) {
      pending += spelled.bytes(id);
    } else if (spelled.n_bytes(id) != 0) {
      flush(out);
      emit(spelled.bytes(id), out);
    }
  }

  // Kind 2: the joined bytes, U+FFFD for each maximal invalid part. `pending` is the start of a character.
  void take_characters(std::string& out) {
    if (out.empty() && !find_invalid_utf8_byte(pending)) return out.swap(pending);
    std::string_view rest = pending;
    while (!rest.empty()) {
      const std::size_t valid = find_invalid_utf8_byte(rest).value_or(rest.size());
      out += rest.substr(0, valid);
      rest.remove_prefix(valid);
      if (rest.empty()) break;
      const Utf8Step step = step_utf8(rest);
      if (step.cut) break;
      out += kReplacement;
      rest.remove_prefix(step.n_bytes);
    }
    pending.erase(0, pending.size() - rest.size());
  }

  // What is pending can grow no more. Kind 1: a run of byte tokens is a text, or one U+FFFD for each byte:
  // which of the two is known only here.
  void flush(std::string& out) {
    if (contents.kind == TokenizerKind::byte_level) {
      append_lossy_utf8(out, pending);
    } else if (!find_invalid_utf8_byte(pending)) {
      emit(pending, out);
    } else {
      for (std::size_t i = 0; i < pending.size(); ++i) emit(kReplacement, out);
    }
    pending.clear();
  }

  // The first space of the whole text is the prefix that encoding added.
  void emit(std::string_view text, std::string& out) {
    if (text.empty()) return;
    if (strip && text.front() == ' ') text.remove_prefix(1);
    strip = false;
    out += text;
  }

  std::shared_ptr<const TokenizerImpl> tokenizer;
  const MltContents& contents;
  std::string pending;
  bool strip = false;
};

std::string Tokenizer::decode(std::span<const std::uint32_t> ids) const {
  StreamDecoder decoder(*this);
  std::string text = decoder.push(ids);
  text += decoder.finish();
  return text;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer) : impl_(std::make_unique<Impl>(tokenizer.impl_)) {}

StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;

StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(std::span<const std::uint32_t> ids) {
  std::string out;
  impl_->push_all(ids, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  impl_->flush(out);
  impl_->reset();
  return out;
}

}  // namespace ml
