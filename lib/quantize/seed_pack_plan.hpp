#pragma once

#include <ml/seed_pack.hpp>

#include "formats/checkpoint_tensor.hpp"
#include "formats/nanoseed_layout.hpp"
#include "formats/shards.hpp"

#include <deque>
#include <string>
#include <vector>

namespace ml {

/// Weights to write as one tensor.
struct PackSource {
  CheckpointTensor tensor;
  /// Where a checkpoint has a tensor for each expert: all of them, and `tensor` is what their stack would be,
  /// but for its view, whose spans are those of the first.
  std::vector<TensorView> experts = {};
};

/// What is to be written, and from what.
struct PackPlan {
  bool folder = true;  ///< else a single file
  std::vector<Shard> shards = {};
  std::vector<CheckpointEntry> entries = {};
  std::deque<SafetensorsTensor> made = {};  ///< those of SeedPackOptions::latent
  std::deque<CheckpointEntry> made_entries = {};
  std::vector<PackSource> sources = {};  ///< by index of the layout's tensors
  std::vector<LayoutTensor> tensors = {};
  Layout layout = {};
  std::string config = {};               ///< config.json, or empty
  std::vector<std::string> copies = {};  ///< paths of files to copy
  std::vector<std::string> owned = {};   ///< names, beside shards, of what such a folder may hold
  PackReport report = {};
};

Result<PackPlan> make_pack_plan(const std::string& input, const std::string& output,
                                const SeedPackOptions& options);

}  // namespace ml
