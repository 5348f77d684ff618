#pragma once

#include "convert/tokenizer_pipeline.hpp"
#include "formats/mlt.hpp"
#include "util/text_hash.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// One entry of added_tokens, with the id that the library gives it.
struct AddedEntry {
  std::string content;
  std::uint32_t id = 0;
  bool normalized = false;
  bool in_vocab = false;
  std::string path;  ///< "added_tokens[3]"
};

/// The vocabulary of a tokenizer.json by text and by id, added tokens included.
class TokenizerVocab {
 public:
  static constexpr std::uint32_t kHole = UINT32_MAX;

  /// @error format       ids or rows that no tokenizer.json may have
  /// @error unsupported  added tokens that .mlt cannot say; the message names their JSON path
  static Result<TokenizerVocab> read(const TokenizerJson& source, const TokenizerPipeline& pipeline,
                                     ConversionLog& log);

  /// The id of a text of the model's vocabulary.
  std::optional<std::uint32_t> find_model(std::string_view text) const;
  /// The id of a text of the added tokens or the model's vocabulary.
  std::optional<std::uint32_t> find(std::string_view text) const;
  /// The text of a model token; empty for holes.
  std::string_view model_text(std::uint32_t id) const;

  std::uint32_t n_ids() const { return static_cast<std::uint32_t>(entry_of_id_.size()); }
  const std::vector<AddedEntry>& added() const { return added_; }

 private:
  explicit TokenizerVocab(const TokenizerJson& source) : source_(&source) {}
  Result<void> index_model();
  Result<void> read_added(ConversionLog& log);
  Result<void> add(AddedEntry entry, std::uint32_t file_id);
  void add_with_own_id(AddedEntry entry, std::uint32_t id);

  const TokenizerJson* source_;
  TextMap<std::uint32_t> ids_;              // of the model
  std::vector<std::uint32_t> entry_of_id_;  // -> source.vocab, or kHole
  TextMap<std::uint32_t, std::string> added_index_;
  std::vector<AddedEntry> added_;
  std::uint64_t added_end_ = 0;  // past the largest id of added_
};

/// Added tokens whose `normalized` is true match in normalized text, behind the others. .mlt matches all in
/// the text as it is: refuses those for which that differs.
Result<void> check_normalized_added(const std::vector<AddedEntry>& added, bool has_normalizer,
                                    ConversionLog& log);

/// The tokens of the .mlt.
Result<MltTokens> convert_tokens(const TokenizerVocab& vocab, const TokenizerPipeline& pipeline,
                                 ConversionLog& log);

/// The merge rules of the .mlt.
Result<std::vector<MltMerge>> convert_merges(const TokenizerJson& source, const TokenizerVocab& vocab,
                                             const MltTokens& tokens, TokenizerKind kind, ConversionLog& log);

/// @return the bytes that a byte-level token's printable characters stand for; nothing where one of them is
/// not
///         of the 256-character alphabet
std::optional<std::string> byte_level_bytes(std::string_view text);

}  // namespace ml
