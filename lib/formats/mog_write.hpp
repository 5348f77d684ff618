#pragma once

#include <ml/mog.hpp>
#include <ml/output.hpp>

namespace ml {

/// What a .mog will hold before its payload, to the byte.
struct MogPlan {
  MogPreamble preamble = {};
  MogConfig config = {};
  std::vector<std::byte> tokenizer = {};
  std::vector<MogRecord> records = {};
  std::uint64_t n_bytes = 0;  ///< of the file
};

/// Places sections and tensors.
///
/// @param config   valid
/// @param tensors  in directory order, those of the model, with encoding and shape; receive their places
MogPlan plan_mog(std::uint32_t architecture, const MogConfig& config, std::vector<std::byte> tokenizer,
                 std::span<MlbArray* const> tensors);

/// Writes all that stands before the payload. @error io
Result<void> write_mog_head(const MogPlan& plan, OutputFile& out);

/// Writes zeros up to an offset of the file that begins at `start`. @error io
Result<void> pad_mog(OutputFile& out, std::uint64_t start, std::uint64_t offset);

}  // namespace ml
