#pragma once

#include <ml/export.hpp>
#include <ml/model.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ml {

/// A tensor that a conversion makes, as BF16.
struct LatentTensor {
  std::string name = {};
  Role role = Role::kv_a_x;
  std::uint32_t layer = 0;
  std::vector<std::uint64_t> shape = {};
  std::vector<std::byte> bf16 = {};  ///< empty in a plan
};

/// What a layer lost.
struct LatentLayerReport {
  std::uint32_t layer = 0;
  std::uint32_t rank = 0;
  double rotation_lost = 0;  ///< share of the keys' energy, as queries weigh it, that rotates no more
  double latent_lost = 0;    ///< share of the energy of unrotated keys and values that the rank leaves out
  double kl = 0;             ///< mean divergence of the logits where this layer alone is converted, in nats
};

struct LatentReport {
  std::vector<LatentLayerReport> layers = {};  ///< converted ones
  std::uint64_t n_tokens = 0;                  ///< calibrated with
  std::uint64_t n_scored = 0;                  ///< tokens that the figures below are of
  double kl = 0;                               ///< mean divergence of the converted model's logits, in nats
  double perplexity = 0;
  double base_perplexity = 0;
  double seconds = 0;
};

/// A model's ordinary attention as latent attention: which tensors go, which come.
struct LatentConversion {
  std::vector<std::uint32_t> ranks = {};   ///< of each layer; 0: untouched
  std::vector<std::string> dropped = {};   ///< names of tensors: keys, and values that are no mixture
  std::vector<LatentTensor> tensors = {};  ///< in the order of layers
  LatentReport report = {};
};

/// @param ranks       one for all layers, or one for each; multiples of 32 up to 1024, 0 leaves a layer as it
/// is
/// @return            names and shapes
/// @error arg         ranks that cannot be
/// @error unsupported the model's attention has no latent form: norms or biases of keys, heads of another
/// size
///                    than 128, fused or already latent keys; the message says which
ML_API Result<LatentConversion> plan_latent(const Model& model, std::span<const std::uint32_t> ranks);

struct LatentOptions {
  std::vector<std::uint32_t> ranks = {};
  std::vector<std::uint32_t> tokens = {};           ///< to calibrate with, at least 2
  unsigned threads = 0;                             ///< 0: available_threads(); never changes a bit
  Target target = Target::best;                     ///< never changes a bit
  std::function<void(double share)> progress = {};  ///< 0 to 1
};

/// Fits latent attention to a model over a text, and measures what that costs on the same text.
///
/// @error as plan_latent(); arg for tokens that the model does not have
/// @cost   a pass over the tokens; for each layer dim^2 doubles of memory and eigenvectors of 256 n_kv_heads
///         rows; a pass over up to 256 tokens
/// @source seed-pack(1), LATENT ATTENTION
ML_API Result<LatentConversion> convert_to_latent(const Model& model, const LatentOptions& options);

}  // namespace ml
