#pragma once

#include <ml/inspect.hpp>

#include "formats/checkpoint_tensor.hpp"

namespace ml {

/// Adds the tensors that entries make up to a report, and what readers pass over.
///
/// @param entries  their paths point into paths of report.files, or are those
/// @param defects  not null: what is wrong with entries that belong together goes there, and the others are
///                 added all the same
Result<void> add_tensors(std::span<const CheckpointEntry> entries, FileReport& report,
                         DefectList* defects = nullptr);

/// Adds the first weight of each tensor that is not finite to the report's defects.
void check_weights(std::span<const Tensor> tensors, const InspectOptions& options, FileReport& report);

/// The same for the report's arrays, where no model knows them. One after the other is decoded where that is
/// needed; a -128 among Q8_0 quants is a defect, too.
void check_arrays(const InspectOptions& options, FileReport& report);

}  // namespace ml
