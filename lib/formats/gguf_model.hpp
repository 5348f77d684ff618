#pragma once

#include <ml/model.hpp>

#include "util/mapped_file.hpp"

namespace ml {

/// Opens a GGUF model and the splits beside it (gguf(5)): metadata and tensors in terms of the model, rows
/// in the order of a .mlb (RopeLayout::interleaved).
Result<Model> open_gguf(std::shared_ptr<const InputBytes> input, const std::string& path,
                        const OpenOptions& options);

}  // namespace ml
