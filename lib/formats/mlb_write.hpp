#pragma once

#include <ml/output.hpp>

#include "formats/mlb_layout.hpp"

namespace ml {

/// What a .mlb of a model will hold, to the byte.
struct MlbPlan {
  MlbHeader header = {};
  std::vector<std::uint8_t> layer_flags = {};
  std::vector<MlbArray> arrays = {};
  std::uint64_t n_bytes = 0;  ///< of the file, its last padding included
};

/// @error format, shape   `desc` cannot be a .mlb; the message names the field
Result<MlbPlan> plan_mlb(const ModelDesc& desc, const MlbStorage& storage);

/// Writes a .mlb front to back. The caller appends the bytes of each array (quants, then scales); the writer
/// pads.
class MlbWriter {
 public:
  MlbWriter(const MlbPlan& plan, OutputFile& out) : plan_(plan), out_(out), start_(out.position()) {}

  /// Header and layer flags; once, first. @error io
  Result<void> write_header();
  /// Bytes of the current array. @error io
  Result<void> write(std::span<const std::byte> bytes) { return out_.write(bytes); }
  /// Zeros up to the next multiple of 64; after each array. @error io
  Result<void> pad();

 private:
  const MlbPlan& plan_;
  OutputFile& out_;
  std::uint64_t start_;
};

}  // namespace ml
