#pragma once

#include <ml/inspect.hpp>

#include "formats/checkpoint_tensor.hpp"

namespace ml {

/// Adds the tensors that entries make up to a report, and what readers pass over.
///
/// @param entries  their paths point into paths of report.files, or are those
Result<void> add_tensors(std::span<const CheckpointEntry> entries, FileReport& report);

/// Adds the first weight of each tensor that is not finite to the report's defects.
void check_weights(std::span<const Tensor> tensors, const InspectOptions& options, FileReport& report);

}  // namespace ml
