#pragma once

#include <ml/model.hpp>

#include "convert/config.hpp"

namespace ml {

/// Reads a checkpoint's rotary embedding: rope_theta and the scaling under `rope_scaling` (until transformers
/// 4) or `rope_parameters` (transformers 5, which holds rope_theta too), its kind under `rope_type` or
/// `type`. The layout is rotate_half with all of head_dim rotating.
///
/// @param max_seq  stands in for original_max_position_embeddings where that is missing
/// @error unsupported  a kind of scaling that .mlb cannot say (dynamic, longrope, ...)
/// @error format       a missing or impossible parameter
Result<RopeDesc> read_rope(const Config& config, float default_theta, std::uint32_t head_dim,
                           std::uint32_t max_seq);

}  // namespace ml
