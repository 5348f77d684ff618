#pragma once

#include "data.hpp"

#include "convert/tokenizer.hpp"
#include "util/bytes.hpp"

#include <nlohmann/json.hpp>

inline std::string source_path(const std::string& name) {
  return data_path("tokenizers/" + name + "/tokenizer.json");
}

inline nlohmann::json source(const std::string& name) {
  return nlohmann::json::parse(read_file(source_path(name)));
}

inline ml::Result<ml::LoadedTokenizer> load(const std::string& text, const ml::PackOptions& options = {},
                                            const ml::TokenizerSideFiles& beside = {}) {
  return ml::load_tokenizer(ml::as_bytes(text), beside, options);
}
