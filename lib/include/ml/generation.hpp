#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ml {

/// The tokens that end a text, as a model folder names them: eos_token_id of generation_config.json, else of
/// config.json, each a number or a list. A .gguf names them in its metadata (gguf(5), TOKENIZER).
///
/// @param path    a model; anything but a folder or a .gguf names none
/// @return        ids in their order, perhaps none
/// @error format  the key holds something else
ML_API Result<std::vector<std::uint32_t>> end_tokens(const std::string& path);

}  // namespace ml
