#pragma once

#include "formats/safetensors.hpp"
#include "util/mapped_file.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The .safetensors of a model folder: model.safetensors.index.json with the shards that its weight_map names,
// or without one every model*.safetensors (of model-0000I-of-0000N.safetensors all N), or the only
// *.safetensors that is there; and model-mla-delta.safetensors, whether the index names it or not.
//
//   {"metadata": {...}, "weight_map": {"TENSOR": "model-00001-of-00003.safetensors", ...}}

namespace ml {

/// The index of a folder.
inline constexpr std::string_view kShardIndex = "model.safetensors.index.json";

/// One .safetensors file of a folder.
struct Shard {
  std::string path;
  std::shared_ptr<const InputBytes> input;
  SafetensorsFile file;
};

/// @return folder/name
std::string path_in_folder(const std::string& folder, std::string_view name);

/// Paths of a folder's shards, sorted; what the index says of the tensors is not checked yet.
///
/// @error format  a broken index, a shard's name that leaves the folder, no, too many or missing .safetensors
Result<std::vector<std::string>> find_shards(const std::string& folder);

/// Opens a folder's shards and checks that index and shards agree and that no tensor is there twice.
///
/// @error io, format, limit  names the file, and the tensors
Result<std::vector<Shard>> open_shards(const std::string& folder);

/// The same for a folder, an index of any name (then the shards that it names, in its folder), or one
/// .safetensors.
Result<std::vector<Shard>> open_weights(const std::string& path);

}  // namespace ml
