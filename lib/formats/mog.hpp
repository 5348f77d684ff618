#pragma once

#include <ml/model.hpp>

#include "util/mapped_file.hpp"

namespace ml {

/// Reads a .mog: validates all of it (mog(5), VALIDATION) and points the model's tensors into `input`.
Result<Model> open_mog(std::shared_ptr<const InputBytes> input, const OpenOptions& options);

/// @return true where `bytes` begin as a .mog does
bool is_mog(std::span<const std::byte> bytes);

/// The tokenizer section of a .mog whose preamble, configuration and directory are sound.
///
/// @return  empty where the file has none
/// @error format, shape, unsupported
Result<std::span<const std::byte>> mog_tokenizer_section(std::span<const std::byte> bytes);

}  // namespace ml
