#include "tokenizer/tokenizer_impl.hpp"
#include "util/utf8.hpp"

namespace ml {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

}  // namespace

struct StreamDecoder::Impl {
  explicit Impl(std::shared_ptr<const TokenizerImpl> tokenizer_impl)
      : tokenizer(std::move(tokenizer_impl)), contents(tokenizer->contents) {
    reset();
  }

  void reset() {
    pending.clear();
    strip = contents.kind == TokenizerKind::sentencepiece && (contents.flags & kMltNoPrefix) == 0;
  }

  void push(std::uint32_t id, std::string& out) {
    if (id >= contents.tokens.size()) return;
    const std::string_view bytes = contents.tokens.bytes(id);
    if (contents.kind == TokenizerKind::byte_level) {
      pending += bytes;
    } else if (contents.tokens.attr(id) == TokenAttr::byte) {
      pending += bytes;
    } else if (!bytes.empty()) {
      flush(out);
      push_piece(bytes, out);
    }
  }

  // Kind 2: the joined bytes, U+FFFD for each maximal invalid part. `pending` is the start of a character.
  void take_characters(std::string& out) {
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

  void push_piece(std::string_view piece, std::string& out) {
    while (!piece.empty()) {
      const std::size_t mark = std::min(piece.find(kSpaceMark), piece.size());
      emit(piece.substr(0, mark), out);
      if (mark < piece.size()) emit(" ", out);
      piece.remove_prefix(std::min(mark + kSpaceMark.size(), piece.size()));
    }
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
  for (const std::uint32_t id : ids) impl_->push(id, out);
  if (impl_->contents.kind == TokenizerKind::byte_level) impl_->take_characters(out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  impl_->flush(out);
  impl_->reset();
  return out;
}

}  // namespace ml
