#pragma once

#include <ml/model.hpp>

#include <string>

namespace ml {

/// Opens a Hugging Face model folder: config.json and its .safetensors (one file or shards with an index).
/// Matrices stay where they are mapped, in the checkpoint's encoding and row order (RopeLayout::rotate_half).
Result<Model> open_folder(const std::string& path, const OpenOptions& options);

struct Family;

/// The family that reads a checkpoint, by its config.json alone.
///
/// @error io, format, unsupported  no config.json, or none that a family knows
Result<const Family*> checkpoint_family(const std::string& path);

}  // namespace ml
