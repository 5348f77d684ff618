#pragma once

#include "runtime/sequence.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// The linear-attention layers of a model: the gated delta rule (mlb(5), LINEAR ATTENTION). Projections are
/// batched; the recurrence stays in token order, and heads and columns of the state go side by side.
class GatedDelta {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<GatedDelta> create(const Model& model, const SessionOptions& options);

  /// workspace.delta() = the layer's output for workspace.input. The layer must be a linear-attention layer.
  void run(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  std::uint64_t scratch_bytes() const;

 private:
  struct Layer {
    const TensorView* lqkv = nullptr;
    const TensorView* lz = nullptr;
    const TensorView* lb = nullptr;
    const TensorView* la = nullptr;
    const TensorView* lout = nullptr;
    std::vector<float> conv;                  // [taps][channels]
    std::vector<double> dt_bias, decay_rate;  // [v_heads]; decay_rate = exp(A_log)
    std::vector<float> norm;
  };

  void project(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens);
  void convolve(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void recur(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void shape_token(Workspace& workspace, const Layer& layer, const float* history, std::uint64_t token,
                   std::uint64_t first);
  void gate(Workspace& workspace, const Layer& layer, std::uint64_t token);

  const ModelDesc* desc_ = nullptr;
  std::vector<Layer> layers_;
  AlignedBuffer<float> inputs_;  // [batch][channels]: what the convolution reads
  AlignedBuffer<float> mixed_;   // [batch][channels]: after the convolution; queries, keys, values
  AlignedBuffer<float> beta_;    // [batch][v_heads]: b, then sigmoid(b)
  AlignedBuffer<float> decay_;   // [batch][v_heads]: a, then exp(g)
  AlignedBuffer<float> out_;     // [batch][values]
  Operand gated_;                // [batch][values]: z, then silu(z) * normalized output
};

}  // namespace ml
