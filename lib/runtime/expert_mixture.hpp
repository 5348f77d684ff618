#pragma once

#include "runtime/routed_experts.hpp"

namespace ml {

/// The feed-forward half of a sparse layer (nanoseedlm(5), MOVA): the sum of weight * w2 (silu(w1 x) * (w3
/// x)) over the experts chosen for a token, in ascending order of the experts, and the shared expert's after
/// it.
class ExpertMixture {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<ExpertMixture> create(const Model& model, const SessionOptions& options);

  /// workspace.delta() = the feed-forward of workspace.input; the layer must be sparse.
  void run(Workspace& workspace, std::uint32_t layer, const Batch& batch);

  std::uint64_t scratch_bytes() const {
    return experts_.scratch_bytes() + gated_.n_bytes() + up_.n_bytes() + out_.n_bytes();
  }

 private:
  struct Weights {
    const TensorView* w1;
    const TensorView* w2;
    const TensorView* w3;
  };
  void run_one(Workspace& workspace, const Weights& weights, Operand& x, std::uint64_t n_tokens);

  const Model* model_ = nullptr;
  RoutedExperts experts_;
  Operand gated_;             // [batch][expert_dim]
  AlignedBuffer<float> up_;   // [batch][expert_dim]
  AlignedBuffer<float> out_;  // [batch][dim]: of one expert
};

}  // namespace ml
