#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

struct EncodeOptions {
  std::optional<bool> bos = {};  ///< prepend BOS; unset: as the file's flag says
  bool added = true;             ///< match added tokens in the text; false: they are plain text
};

/// Text to token ids and back (mlt(5)). Constant and safe to share between threads.
class ML_API Tokenizer {
 public:
  /// Opens a tokenizer and checks all of it.
  ///
  /// @param path   a .mlt file, a tokenizer.json, or a folder that holds one; "-" reads standard input
  /// @error io, format, unsupported
  static Result<Tokenizer> open(const std::string& path);

  /// Ids of one text. Bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid part.
  std::vector<std::uint32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Text of ids, as the tokenizer's own decoder gives it. Ids past the vocabulary give nothing.
  std::string decode(std::span<const std::uint32_t> ids) const;

  std::uint32_t n_vocab() const;
  std::optional<std::uint32_t> bos() const;
  std::optional<std::uint32_t> eos() const;
  /// The stored bytes of one token.
  std::string_view piece(std::uint32_t id) const;

 private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// Decodes a growing sequence of ids: the pieces it returns, joined, are decode() of all ids, and none ends
/// inside a character.
class ML_API StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer);
  ~StreamDecoder();

  /// Adds ids. @return the text that is certain now, perhaps empty
  std::string push(std::span<const std::uint32_t> ids);
  /// @return what is left: the bytes of an unfinished character as U+FFFD
  std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ml
