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

  std::uint64_t scratch_bytes() const;

 private:
  struct Weights {
    const TensorView* w1;
    const TensorView* w2;
    const TensorView* w3;
  };
  struct Layer {
    std::vector<Weights> experts;
    Weights shared;
  };
  void run_batch(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens);
  void run_one_token(Workspace& workspace, const Layer& layer);
  void run_expert(Workspace& workspace, const Weights& weights, Operand& x, std::uint64_t n_tokens);

  std::uint64_t dim_ = 0;
  std::vector<Layer> layers_;  // one for each layer of the model; empty for dense ones
  RoutedExperts experts_;
  Operand gated_;                // [batch][expert_dim]: of one expert
  std::vector<Operand> hidden_;  // [n_chosen + 1] of [1][expert_dim]: one token's, of each expert
  AlignedBuffer<float> up_;      // [batch or n_chosen + 1][expert_dim]
  AlignedBuffer<float> out_;     // [batch or n_chosen + 1][dim]
};

}  // namespace ml
