#pragma once

#include "runtime/sequence.hpp"
#include "runtime/value_mixture.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// The attention layers of a model: projections, biases, norms of queries and keys, RoPE, the attention
/// itself.
class Attention {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<Attention> create(const Model& model, const SessionOptions& options);

  /// cos and sin of the batch's positions; once before its layers.
  void prepare(Workspace& workspace, const Batch& batch);
  /// workspace.delta() = attention of workspace.input. The layer must be an attention layer.
  void run(Workspace& workspace, std::uint32_t layer, const Batch& batch);

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
  /// The angles of the batch for one set of frequencies.
  struct Angles {
    std::vector<double> frequencies;
    RopeDesc rope;
    AlignedBuffer<float> values;  // [batch][2][pairs]: cosines, sines
  };

  void project(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void place_token(Workspace& workspace, std::uint32_t layer, const Batch& batch, std::uint64_t token);
  void attend(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  std::uint64_t row_floats() const { return desc_->q_dim() + 2ull * desc_->kv_dim(); }

  const ModelDesc* desc_ = nullptr;
  KvType kv_ = KvType::f16;
  std::vector<Layer> layers_;     // one for each layer of the model; empty for other kinds
  std::vector<Angles> angles_;    // of rope.theta, then of rope.local_theta where a layer wants it
  AlignedBuffer<float> qkv_;      // [batch][q_dim + 2 kv_dim]
  AlignedBuffer<float> queries_;  // [batch][n_heads][padded head_dim], rotated
  AlignedBuffer<float> gates_;    // [batch][q_dim]
  Operand attended_;              // [batch][q_dim]
  ValueMixture value_mixture_;    // of sparse layers
};

}  // namespace ml
