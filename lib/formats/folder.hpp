#pragma once

#include <ml/model.hpp>

#include <string>

namespace ml {

/// Opens a Hugging Face model folder: config.json and its .safetensors (one file or shards with an index).
/// Matrices stay where they are mapped, in the checkpoint's encoding and row order (RopeLayout::rotate_half).
Result<Model> open_folder(const std::string& path, const OpenOptions& options);

}  // namespace ml
