#pragma once

#include "convert/tokenizer_log.hpp"
#include "formats/tokenizer_json.hpp"

#include <optional>

namespace ml {

/// What the parts around the vocabulary come to in a .mlt.
struct TokenizerPipeline {
  TokenizerKind kind = TokenizerKind::byte_level;
  std::uint32_t flags = 0;
  bool has_normalizer = false;
  bool has_unk = false;              ///< model.unk_token is set
  std::optional<std::uint32_t> bos;  ///< the post-processor's
};

/// Judges model options, normalizer, pre-tokenizer and post-processor (mlt(5), CONVERSION).
///
/// @error unsupported  names the JSON path of the first part that .mlt cannot say
Result<TokenizerPipeline> read_tokenizer_pipeline(const TokenizerJson& source, ConversionLog& log);

/// One step of a pipeline part, with its JSON path.
struct PipelineStep {
  const nlohmann::json* value;
  std::string path;
  std::string type;
};

/// The steps of document[part], sequences (whose list is `list`) flattened; none where it is null.
Result<std::vector<PipelineStep>> pipeline_steps(const nlohmann::json& document, const std::string& part,
                                                 const std::string& list);

/// @return the member, or a null value
const nlohmann::json& json_member(const nlohmann::json& object, std::string_view name);

/// Reads pre_tokenizer of a byte-level tokenizer. @return flags
Result<std::uint32_t> read_byte_level_pattern(const std::vector<PipelineStep>& steps, ConversionLog& log);

/// Reads normalizer and pre_tokenizer of a SentencePiece-style tokenizer. @return flags
Result<std::uint32_t> read_space_rule(const std::vector<PipelineStep>& normalizer,
                                      const std::vector<PipelineStep>& pre_tokenizer, ConversionLog& log);

/// Reads the post-processor. @return the BOS that it puts first, if any
Result<std::optional<std::uint32_t>> read_post_processor(const nlohmann::json& document);

}  // namespace ml
