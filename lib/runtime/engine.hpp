#pragma once

#include <ml/session.hpp>

#include "runtime/attention.hpp"
#include "runtime/expert_mixture.hpp"
#include "runtime/feed_forward.hpp"
#include "runtime/gated_delta.hpp"
#include "runtime/latent_attention.hpp"
#include "runtime/rope_angles.hpp"
#include "runtime/sequence.hpp"
#include "runtime/workspace.hpp"

#include <memory>
#include <vector>

namespace ml {

/// A model made ready to run: its weights found once, and the scratch memory of one pass. It holds no
/// sequence.
class Engine {
 public:
  /// Rows of logits that one classify() gives at most.
  static constexpr std::uint32_t kLogitsRows = 16;

  /// @param n_sequences  a step of all of them fits into a pass
  /// @error limit, nomem
  static Result<std::unique_ptr<Engine>> create(const Model& model, const SessionOptions& options,
                                                std::uint32_t n_sequences);

  const ModelDesc& desc() const { return model_.desc(); }
  const Model& model() const { return model_; }
  /// With ctx and batch resolved.
  const SessionOptions& options() const { return options_; }

  void watch_inputs(InputWatcher watcher) { workspace_->watcher = std::move(watcher); }

  /// @error arg, limit  the tokens cannot follow the sequence
  Result<void> check_tokens(const Sequence& sequence, std::span<const std::uint32_t> tokens) const;
  /// Evaluates a batch of at most options().batch tokens; its sequences then hold them.
  void forward(const Batch& batch);
  /// Logits of up to kLogitsRows rows of the last batch, one after the other.
  std::span<const float> classify(std::span<const std::uint64_t> rows);

  std::uint64_t scratch_bytes() const;

 private:
  /// The norms around the two halves of a layer; the post norms are empty where the model has none.
  struct LayerNorms {
    std::vector<float> attn, ffn, post_attn, post_ffn;
  };

  Engine(const Model& model, const SessionOptions& options) : model_(model), options_(options) {}
  Result<void> prepare();
  void embed(const Batch& batch);

  Model model_;
  SessionOptions options_;
  std::unique_ptr<Workspace> workspace_;
  std::vector<LayerNorms> norms_;
  std::vector<float> final_norm_;
  const TensorView* classifier_ = nullptr;
  RopeAngles angles_;
  Attention attention_;
  LatentAttention latent_attention_;
  GatedDelta gated_delta_;
  FeedForward feed_forward_;
  ExpertMixture expert_mixture_;
  AlignedBuffer<float> logits_;  // [kLogitsRows][vocab]
};

}  // namespace ml
