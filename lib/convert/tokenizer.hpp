#pragma once

#include <ml/tokenizer.hpp>

#include "formats/mlt.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace ml {

/// What lies beside a tokenizer.json and names its BOS and EOS; null where a file is absent.
struct TokenizerSideFiles {
  nlohmann::json tokenizer_config = {};
  nlohmann::json config = {};
  nlohmann::json generation_config = {};
};

struct LoadedTokenizer {
  MltContents contents;
  std::vector<std::string> notes;
};

/// Reads a .mlt, or a tokenizer.json and the files beside it. @error as pack_tokenizer
Result<LoadedTokenizer> load_tokenizer(const std::string& path, const PackOptions& options);

/// The same from bytes.
Result<LoadedTokenizer> load_tokenizer(std::span<const std::byte> bytes, const TokenizerSideFiles& beside,
                                       const PackOptions& options);

}  // namespace ml
