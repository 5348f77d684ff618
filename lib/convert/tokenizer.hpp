#pragma once

#include <ml/tokenizer.hpp>

#include "formats/mlt.hpp"
#include "util/mapped_file.hpp"

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

/// The file that a path means, opened: the path itself, or tokenizer.json in a folder.
struct TokenizerSource {
  std::string path;
  std::shared_ptr<const InputBytes> input;
};
/// @error io
Result<TokenizerSource> open_tokenizer(const std::string& path);

/// Reads a .mlt, or a tokenizer.json and the files beside it. @error as pack_tokenizer
Result<LoadedTokenizer> load_tokenizer(const TokenizerSource& source, const PackOptions& options);
/// The same by its path.
Result<LoadedTokenizer> load_tokenizer(const std::string& path, const PackOptions& options);

/// The same from bytes.
Result<LoadedTokenizer> load_tokenizer(std::span<const std::byte> bytes, const TokenizerSideFiles& beside,
                                       const PackOptions& options);

}  // namespace ml
