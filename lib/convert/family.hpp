#pragma once

#include <ml/model.hpp>

#include "convert/config.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace ml {

/// Which part of a checkpoint's tensor a role is.
enum class Part : std::uint8_t {
  whole,
  fused_q,      ///< rows of queries in [q | k | v]
  fused_k,      ///< rows of keys
  fused_v,      ///< rows of values
  first_half,   ///< the upper half of the rows
  second_half,  ///< the lower half
  head_first,   ///< the first head_dim rows of every 2 * head_dim
  head_second,  ///< the second ones
};

/// Where a family keeps a role: the name after "layers.N." for tensors of a layer, after the root ("model.")
/// for tok_emb and final_norm, the whole name for wcls.
struct TensorRow {
  Role role;
  std::string_view name;
  Part part = Part::whole;
  bool plus_one = false;  ///< the checkpoint stores w, the model applies 1 + w
};

/// What a family's configuration class assumes for keys that config.json does not have.
struct ConfigDefaults {
  bool tied = false;
  float norm_eps = 1e-6f;
  float rope_theta = 10000.0f;
  std::uint32_t max_seq = 2048;
  std::optional<std::uint32_t> n_kv_heads = {};  ///< unset: n_heads (which a null means in every family)
  std::optional<std::uint32_t> n_heads = {};     ///< unset: the key must be there, as for those below
  std::optional<std::uint32_t> dim = {};
  std::optional<std::uint32_t> n_layers = {};
  std::optional<std::uint32_t> hidden_dim = {};
  std::optional<std::uint32_t> vocab = {};
  std::uint32_t head_dim = 0;  ///< 0: hidden_size / num_attention_heads
};

/// One family of checkpoints, as data; `refine` says what data cannot.
struct Family {
  std::string_view name;
  std::span<const std::string_view> model_types;    ///< config.json: model_type
  std::span<const std::string_view> architectures;  ///< config.json: architectures[0]
  Activation activation = Activation::silu;
  std::string_view activation_key = "hidden_act";
  std::span<const std::string_view> activations;  ///< its spellings; a missing key means the first
  ConfigDefaults defaults;
  std::span<const TensorRow> tensors;
  std::span<const std::string_view> zero_only;  ///< layer tensors that no .mlb holds: accepted where all is 0
  std::span<const std::string_view> ignored;    ///< ends of names that carry nothing
  std::span<const std::string_view> other_parts = {};  ///< starts of names outside the text model
  bool partial_rotary = false;  ///< `refine` reads partial_rotary_factor; in others whole heads rotate
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
