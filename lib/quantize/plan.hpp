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

/// The importance of each column of an array that is written as Q4_0, zeros beyond the source's width
/// included; empty where options give none or its sums say nothing.
std::vector<float> importance_of(const MlbArray& array, const ModelDesc& desc,
                                 const QuantizeOptions& options);

}  // namespace ml
