#pragma once

#include <ml/seed_pack.hpp>

#include "formats/checkpoint_tensor.hpp"
#include "formats/nanoseed_layout.hpp"
#include "formats/shards.hpp"

#include <deque>
#include <string>
#include <vector>

namespace ml {

/// What is to be written, and from what.
struct PackPlan {
  bool folder = true;  ///< else a single file
  std::vector<Shard> shards = {};
  std::vector<CheckpointEntry> entries = {};
  std::deque<SafetensorsTensor> made = {};     ///< those of SeedPackOptions::latent
  std::deque<CheckpointEntry> made_entries = {};
  std::vector<CheckpointTensor> sources = {};  ///< by index of the layout's tensors
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
