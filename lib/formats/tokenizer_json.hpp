#pragma once

#include <ml/status.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ml {

/// A tokenizer.json, read but not judged. The two large parts of its model are lists of their own; everything
/// else is a document, in which model.vocab and model.merges are null.
struct TokenizerJson {
  struct VocabEntry {
    std::string text;
    std::uint32_t id;
  };
  struct MergeRow {
    std::string left;
    std::string right;
  };

  nlohmann::json document;
  bool has_vocab = false;         ///< model.vocab is an object
  bool has_merges = false;        ///< model.merges is an array
  std::vector<VocabEntry> vocab;  ///< in file order
  std::vector<MergeRow> merges;   ///< in rank order
  bool ids_share_texts = false;   ///< entries of one text are tokens of their own (of a GGUF file)
};

/// @error format  not JSON (offset: where), nested too deeply, or a vocabulary or merge list of another form
/// @cost          memory of a small multiple of the bytes
Result<TokenizerJson> parse_tokenizer_json(std::span<const std::byte> bytes);

}  // namespace ml
