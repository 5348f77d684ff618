#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// The two kinds of tokenizer (mlt(5), HEADER).
enum class TokenizerKind : std::uint32_t {
  sentencepiece = 1,  ///< BPE over characters, spaces written as U+2581, byte fallback
  byte_level = 2,     ///< BPE over bytes, within the pieces of a pre-tokenizer
};

/// What a token is (mlt(5), TOKENS).
enum class TokenAttr : std::uint8_t {
  normal = 0,
  added = 1,  ///< matched literally in the text before anything else
  byte = 2,   ///< a byte that stands for itself where a character has no token
};

// Flags of a .mlt (mlt(5), FLAGS). Those from kMltMarks on are extensions, which older readers refuse.
inline constexpr std::uint32_t kMltBos = 1;            ///< prepend BOS
inline constexpr std::uint32_t kMltIgnoreMerges = 2;   ///< a whole piece found in the vocabulary is one token
inline constexpr std::uint32_t kMltPrefixFirst = 4;    ///< U+2581 only at the start of the text
inline constexpr std::uint32_t kMltNfc = 8;            ///< normalize to NFC
inline constexpr std::uint32_t kMltSingleDigits = 16;  ///< \p{N} instead of \p{N}{1,3}
inline constexpr std::uint32_t kMltGpt2 = 32;          ///< the GPT-2 pattern
inline constexpr std::uint32_t kMltSplitDigits = 64;   ///< every number is a piece of its own
inline constexpr std::uint32_t kMltMarks = 128;        ///< combining marks stay with letters
inline constexpr std::uint32_t kMltNoPrefix = 1u << 16;  ///< no U+2581 before the text
inline constexpr std::uint32_t kMltO200k = 1u << 17;     ///< the o200k pattern
inline constexpr std::uint32_t kMltDeepSeek = 1u << 18;  ///< DeepSeek-V3's three splits
inline constexpr std::uint32_t kMltExtensions = kMltMarks | kMltNoPrefix | kMltO200k | kMltDeepSeek;

/// @return the name of each set flag, in the order of their bits: "bos", "ignore_merges", ...
ML_API std::vector<std::string> tokenizer_flag_names(std::uint32_t flags);

struct EncodeOptions {
  std::optional<bool> bos = {};  ///< prepend BOS; unset: as the file's flag says
  bool added = true;             ///< match added tokens in the text; false: they are plain text
  Target target = Target::best;  ///< instruction set to use; the ids never depend on it
};

struct TokenizerImpl;

/// Text to token ids and back (mlt(5)). Constant and safe to share between threads.
class ML_API Tokenizer {
 public:
  /// Opens a tokenizer and checks all of it.
  ///
  /// @param path   a .mlt file, a .mog or .gguf that holds one, a tokenizer.json, or a folder that holds one;
  /// "-" reads standard input
  /// @error io           cannot open or read
  /// @error format       bytes break the format; offset is the first wrong byte
  /// @error unsupported  a tokenizer.json with a feature that .mlt cannot say; the message names its JSON
  /// path
  static Result<Tokenizer> open(const std::string& path);

  /// The same from the bytes of a .mlt, a .mog or a tokenizer.json (whose BOS and EOS then come from itself
  /// alone). The bytes may go afterwards.
  static Result<Tokenizer> from_bytes(std::span<const std::byte> bytes);

  /// Ids of one text. Bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid part.
  std::vector<std::uint32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The same, appended to `ids`.
  void encode_to(std::vector<std::uint32_t>& ids, std::string_view text,
                 const EncodeOptions& options = {}) const;

  /// Text of ids, as the tokenizer's own decoder gives it. Ids past the vocabulary give nothing.
  std::string decode(std::span<const std::uint32_t> ids) const;

  std::uint32_t n_vocab() const;
  std::uint32_t n_merges() const;
  TokenizerKind kind() const;
  /// The set of kMlt... flags.
  std::uint32_t flags() const;
  std::optional<std::uint32_t> bos() const;
  std::optional<std::uint32_t> eos() const;
  /// The stored bytes of one token; empty for an id hole and for ids past the vocabulary.
  std::string_view piece(std::uint32_t id) const;
  TokenAttr attr(std::uint32_t id) const;
  /// @return the added token with these bytes ("<|eot_id|>")
  std::optional<std::uint32_t> find_added(std::string_view content) const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::shared_ptr<const TokenizerImpl> impl);
  std::shared_ptr<const TokenizerImpl> impl_;
};

/// Decodes a growing sequence of ids: the pieces it returns, joined, are decode() of all ids, and none ends
/// inside a character. Keeps the tokenizer alive.
class ML_API StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  /// Adds ids. @return the text that is certain now, perhaps empty
  std::string push(std::span<const std::uint32_t> ids);
  /// @return what is left: the bytes of an unfinished character as U+FFFD. The decoder is as new afterwards.
  std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct PackOptions {
  bool lossy = false;   ///< accept features that .mlt cannot say where they change rare inputs only
  bool strict = false;  ///< refuse what needs an extension flag
  std::optional<std::uint32_t> max_vocab = {};  ///< drop the added tokens from this id on
};

/// The bytes of a .mlt, and what a user should know about how they came to be.
struct PackedTokenizer {
  std::vector<std::byte> bytes = {};
  std::vector<std::string> notes =
      {};  ///< extension flags in use, what was dropped or is unknown; a line each
};

/// Turns a tokenizer into a .mlt.
///
/// @param path  a tokenizer.json or a folder that holds one (BOS and EOS come from the files beside it), a
///              .gguf, a .mlt; "-" reads standard input
/// @error io, format
/// @error unsupported  a feature that .mlt cannot say; the message names its JSON path
/// @error limit        a token or BOS or EOS at max_vocab or above that cannot be dropped
/// @source             mlt(5), CONVERSION
ML_API Result<PackedTokenizer> pack_tokenizer(const std::string& path, const PackOptions& options = {});

/// @return true for a model that carries its own tokenizer (a .gguf): Tokenizer::open() reads it from there
ML_API bool has_own_tokenizer(const std::string& model);

/// The tokenizer of a model: the one in a .mog or .gguf; else, beside the model, model.mlt or tokenizer.json
/// in its folder; for a file NAME.mlt before those.
///
/// @return  its path, or "" where there is none
ML_API std::string find_tokenizer(const std::string& model);

/// @return the offset of the first byte that is not UTF-8
ML_API std::optional<std::uint64_t> find_invalid_utf8(std::string_view text);

}  // namespace ml
