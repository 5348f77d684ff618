#pragma once

#include "runtime/rope_angles.hpp"
#include "runtime/sequence.hpp"
#include "runtime/value_mixture.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// The layers of ordinary attention: projections, biases, norms of queries and keys, RoPE, the attention
/// itself.
class Attention {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<Attention> create(const Model& model, const SessionOptions& options);

  /// workspace.delta() = attention of workspace.input. The layer must be an attention layer.
  void run(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer, const Batch& batch);

  std::uint64_t scratch_bytes() const;

 private:
  struct Layer {
    const TensorView* wq = nullptr;
    const TensorView* wk = nullptr;
    const TensorView* wv = nullptr;
    const TensorView* wo = nullptr;
    const TensorView* wg = nullptr;
    std::vector<float> bq, bk, bv, q_norm, k_norm;
  };

  void project(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void place_token(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer, const Batch& batch,
                   std::uint64_t token);
  std::uint64_t row_floats() const { return desc_->q_dim() + 2ull * desc_->kv_dim(); }

  const ModelDesc* desc_ = nullptr;
  std::vector<Layer> layers_;     // one for each layer of the model; empty for other kinds
  AlignedBuffer<float> qkv_;      // [batch][q_dim + 2 kv_dim]
  AlignedBuffer<float> queries_;  // [batch][n_heads][padded head_dim], rotated
  AlignedBuffer<float> gates_;    // [batch][q_dim]
  Operand attended_;              // [batch][q_dim]
  ValueMixture value_mixture_;    // of sparse layers
};

}  // namespace ml
