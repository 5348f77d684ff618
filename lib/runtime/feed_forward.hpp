#pragma once

#include "runtime/workspace.hpp"

namespace ml {

/// The gated feed-forward half of a layer: w2 (act(w1 x) * (w3 x)).
class FeedForward {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<FeedForward> create(const Model& model, const SessionOptions& options);

  /// workspace.delta() = the feed-forward of workspace.input.
  void run(Workspace& workspace, std::uint32_t layer, std::uint64_t n_tokens);

  std::uint64_t scratch_bytes() const { return gated_.n_bytes() + up_.n_bytes(); }

 private:
  struct Layer {
    const TensorView* w1;
    const TensorView* w2;
    const TensorView* w3;
  };

  const ModelDesc* desc_ = nullptr;
  std::vector<Layer> layers_;
  Operand gated_;            // [batch][hidden_dim]: gate, then act(gate) * up
  AlignedBuffer<float> up_;  // [batch][hidden_dim]
};

}  // namespace ml
