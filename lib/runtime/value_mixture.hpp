#pragma once

#include "runtime/routed_experts.hpp"

namespace ml {

/// The values of a sparse layer (nanoseedlm(5), MOVA): the sum of weight * silu(expert x) over the experts
/// chosen for a token, in ascending order of the experts.
class ValueMixture {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<ValueMixture> create(const Model& model, const SessionOptions& options);

  /// Values of workspace.input; the layer must be sparse.
  ///
  /// @param out     kv_dim floats for each token of the batch, out_stride apart
  void run(Workspace& workspace, std::uint32_t layer, const Batch& batch, float* out,
           std::uint64_t out_stride);

  std::uint64_t scratch_bytes() const { return experts_.scratch_bytes() + values_.n_bytes(); }

 private:
  void run_one_token(Workspace& workspace, std::span<const Tensor> experts, float* out);

  const Model* model_ = nullptr;
  RoutedExperts experts_;
  std::vector<float> ones_;      // [kv_dim]
  AlignedBuffer<float> values_;  // [batch][kv_dim]: of one expert; or one token's of each
};

}  // namespace ml
