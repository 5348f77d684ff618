#pragma once

#include "runtime/rope_angles.hpp"
#include "runtime/sequence.hpp"
#include "runtime/value_mixture.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// The layers of latent attention (nanoseedlm(5), LATENT ATTENTION), absorbed: queries become vectors of the
/// latent space, so that keys and values of heads are never made. A position's row in the cache is its latent
/// vector c (rank elements) and its rotated key, a head's query is (q_lat q, rotated q_rope_mix q).
class LatentAttention {
 public:
  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<LatentAttention> create(const Model& model, const SessionOptions& options);

  /// workspace.delta() = attention of workspace.input. The layer must be one of latent attention.
  void run(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer, const Batch& batch);

  std::uint64_t scratch_bytes() const;

 private:
  struct Layer {
    const TensorView* wq = nullptr;
    const TensorView* wo = nullptr;
    const TensorView* wg = nullptr;
    const TensorView* kv_a_x = nullptr;
    const TensorView* kv_a_v = nullptr;  // of sparse layers
    const TensorView* k_rope_proj = nullptr;
    const TensorView* q_rope_mix = nullptr;
    const TensorView* q_lat = nullptr;
    const TensorView* v_up = nullptr;
    std::vector<float> bq, q_norm;
    std::uint64_t rank = 0;
    std::uint64_t row_dim = 0;  // rank + head_dim
  };

  void project(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void add_values(Workspace& workspace, std::uint32_t layer, const Batch& batch);
  void absorb(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens);
  void place_token(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer, const Batch& batch,
                   std::uint64_t token);

  const ModelDesc* desc_ = nullptr;
  std::vector<Layer> layers_;      // one for each layer of the model; empty for other kinds
  AlignedBuffer<float> unmixed_;   // [batch][n_heads][head_dim]: queries as wq gives them
  AlignedBuffer<float> rows_;      // [batch][row_dim]: what goes to the cache
  AlignedBuffer<float> queries_;   // [batch][n_heads][row_dim]
  AlignedBuffer<float> averages_;  // [batch][n_heads][rank]: latent vectors that heads attended to
  AlignedBuffer<float> gates_;     // [batch][q_dim]
  ValueMixture value_mixture_;
  Operand values_;                  // [batch][kv_dim]: mixtures of sparse layers
  AlignedBuffer<float> of_values_;  // [batch][rank]: what they add to latent vectors
  Operand attended_;                // [batch][q_dim]
};

}  // namespace ml
