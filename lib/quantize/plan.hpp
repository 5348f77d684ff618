#pragma once

#include <ml/quantize.hpp>

#include "formats/mlb_write.hpp"

namespace ml {

/// @return a report without errors and times, and the plan that it describes
struct QuantizePlan {
  MlbPlan mlb = {};
  QuantizeReport report = {};
};
Result<QuantizePlan> make_quantize_plan(const Model& model, const QuantizeOptions& options);

}  // namespace ml
