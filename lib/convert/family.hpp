#pragma once

#include <ml/model.hpp>

#include "convert/config.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace ml {

/// Where a family keeps a role: the name after "layers.N." for tensors of a layer, after the root ("model.")
/// for tok_emb and final_norm, the whole name for wcls.
struct TensorRow {
  Role role;
  std::string_view name;
};

/// What a family's configuration class assumes for keys that config.json does not have.
struct ConfigDefaults {
  bool tied = false;
  float norm_eps = 1e-6f;
  float rope_theta = 10000.0f;
  std::uint32_t max_seq = 2048;
  std::optional<std::uint32_t> n_kv_heads = {};  ///< unset: n_heads (which a null means in every family)
};

/// One family of checkpoints, as data; `refine` says what data cannot.
struct Family {
  std::string_view name;
  std::span<const std::string_view> model_types;    ///< config.json: model_type
  std::span<const std::string_view> architectures;  ///< config.json: architectures[0]
  std::span<const std::string_view> activations;  ///< hidden_act: spellings of SiLU; the first is the default
  ConfigDefaults defaults;
  std::span<const TensorRow> tensors;
  std::span<const std::string_view> zero_only;  ///< layer tensors that no .mlb holds: accepted where all is 0
  std::span<const std::string_view> ignored;    ///< ends of names that carry nothing
  /// Fills in what the common keys do not say.
  Result<void> (*refine)(const Config& config, ModelDesc& desc);
};

/// @return every family, in the order of the registry
std::span<const Family* const> families();

/// Finds the family of a checkpoint by model_type and architectures.
///
/// @error unsupported  none; names key and value, and lists the families
/// @error format       neither key is there
Result<const Family*> find_family(const Config& config);

/// Reads the keys that all families share into a description, then the family's own, and checks the
/// dimensions.
///
/// @error format, shape, unsupported  names key, value and rule
Result<ModelDesc> describe_checkpoint(const Config& config, const Family& family);

}  // namespace ml
