#pragma once

#include <ml/model.hpp>

#include "convert/config.hpp"

#include <string_view>

namespace ml {

/// Reads what config.json says of latent attention (nanoseedlm(5), LATENT ATTENTION) into a description whose
/// heads and layers are known: mla_ranks, mla_rope_dim, mla_max_context, mla_kv.
///
/// @error format, shape, unsupported  names key, value and rule
Result<void> read_latent(const Config& config, ModelDesc& desc);

/// The checkpoint's name of a role of latent attention after "layers.N."; "" for other roles.
std::string_view latent_tensor_name(Role role);

}  // namespace ml
