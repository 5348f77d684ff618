#pragma once

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
  void run(Workspace& workspace, std::uint32_t layer, std::uint64_t n_tokens);
  /// Forgets all positions.
  void reset();

  /// What a layer remembers: recurrent states [v_heads][k_dim][v_dim], then inputs [conv - 1][channels].
  std::span<float> state(std::uint32_t layer);
  std::uint64_t state_bytes() const;
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
    AlignedBuffer<float> state;
  };

  void project(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens);
  void convolve(Workspace& workspace, Layer& layer, std::uint64_t n_tokens);
  void recur(Workspace& workspace, Layer& layer, std::uint64_t n_tokens);
  void gate(Workspace& workspace, const Layer& layer, std::uint64_t token);

  std::uint64_t history_rows() const { return desc_->linear.conv - 1; }
  std::uint64_t recurrent_floats() const { return desc_->linear.n_values() * desc_->linear.k_dim; }

  const ModelDesc* desc_ = nullptr;
  std::vector<Layer> layers_;
  AlignedBuffer<float> inputs_;  // [conv - 1 + batch][channels]: earlier inputs, then the batch's
  AlignedBuffer<float> mixed_;   // [batch][channels]: after the convolution; queries, keys, values
  AlignedBuffer<float> beta_;    // [batch][v_heads]: b, then sigmoid(b)
  AlignedBuffer<float> decay_;   // [batch][v_heads]: a, then exp(g)
  AlignedBuffer<float> out_;     // [batch][values]
  Operand gated_;                // [batch][values]: z, then silu(z) * normalized output
};

}  // namespace ml
