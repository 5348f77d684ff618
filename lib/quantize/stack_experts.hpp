#pragma once

#include "quantize/seed_pack_plan.hpp"

namespace ml {

/// Makes one source of the tensors that a checkpoint has for each expert of a role, at the place of the first
/// of them: folders hold experts stacked (nanoseedlm(5), MOVA). Sources of other families stay as they are.
///
/// @error format  an expert is missing
/// @error shape   two of them differ in shape or dtype
Result<void> stack_experts(const std::string& folder, std::vector<PackSource>& sources);

}  // namespace ml
