#pragma once

// What a .mlb's arrays may hold (mlb(5), VALIDATION): the passes over the file's body.

#include <ml/mlb.hpp>

#include <optional>

namespace ml {

/// The directory as far as it can be read: `file.arrays` holds the tensors before the first defect in the
/// layout.
struct MlbDirectory {
  MlbFile file;
  std::vector<Error> defects;
};
MlbDirectory read_mlb_directory(std::span<const std::byte> bytes);

/// @return the first Q8_0 quant of -128 in the file
std::optional<Error> find_mlb_quant_defect(std::span<const std::byte> bytes, const MlbFile& file);

}  // namespace ml
