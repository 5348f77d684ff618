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

/// Reads one object of scaling parameters (and rope_theta, where it holds one) into `rope`.
Result<void> read_rope_scaling(const Config& scaling, std::uint32_t max_seq, RopeDesc& rope);

/// The object of scaling parameters, under whichever key it is; empty where there is none.
Result<std::optional<Config>> find_rope_scaling(const Config& config);

/// Reads partial_rotary_factor, beside the scaling parameters or at the top level, into desc.rope.rot_dim.
Result<void> read_partial_rotary(const Config& config, float fallback, ModelDesc& desc);

}  // namespace ml
