#pragma once

#include <ml/model.hpp>
#include <ml/session.hpp>

#include "latent/dense.hpp"

#include <functional>
#include <span>
#include <vector>

namespace ml {

/// E[z z^T] of what the attention of each layer reads, z = x; in sparse layers z = [x; v] with the mixture of
/// values v. Empty for layers that nobody asked for.
using Calibration = std::vector<Dense>;

struct CalibrationOptions {
  std::uint32_t window = 512;  ///< tokens that are read from an empty context
  unsigned threads = 0;
  Target target = Target::best;
  std::function<void(std::uint64_t n_done)> progress = {};  ///< tokens
};

/// Runs a model over tokens, in windows, with float32 activations. A ten-thousandth of the mean diagonal is
/// added to the diagonal, so that directions that the tokens never took are fitted as well.
///
/// @param wanted  for each layer, whether it counts
/// @error arg     a token is not below the vocabulary; no tokens
/// @error format  the model gives values that are not finite
/// @cost          a pass over the tokens, and z^2 / 2 products of doubles a token and layer; z^2 doubles a
/// layer
Result<Calibration> calibrate(const Model& model, std::span<const std::uint32_t> tokens,
                              const std::vector<bool>& wanted, const CalibrationOptions& options);

}  // namespace ml
