#pragma once

#include "convert/family.hpp"

namespace ml {

/// Phi-3 and Phi-3.5 with plain RoPE: fused projections, a window on every layer.
extern const Family kPhi3Family;

}  // namespace ml
