#pragma once

#include "convert/tokenizer_log.hpp"
#include "formats/gguf.hpp"
#include "formats/mlt.hpp"

#include <map>
#include <string>
#include <vector>

namespace ml {

/// True where a file's metadata hold a tokenizer.
bool has_gguf_tokenizer(const GgufFile& file);

/// Turns the tokenizer of a GGUF file into the contents of a .mlt (gguf(5), TOKENIZER).
///
/// @error format       tokenizer.ggml.* keys are missing, of another type or do not fit together
/// @error unsupported  a kind of tokenizer or a pre-tokenizer that .mlt does not have; names key and value
Result<MltContents> convert_gguf_tokenizer(const GgufFile& file, ConversionLog& log);

/// The tokens that end a text: those that the metadata name, and tokens whose text every model that has them
/// ends a turn with.
Result<std::vector<std::uint32_t>> gguf_end_tokens(const GgufFile& file);

/// The texts of the tokens that chat templates know by name: "bos_token", "eos_token", ...
std::map<std::string, std::string> gguf_special_tokens(const GgufFile& file);

}  // namespace ml
