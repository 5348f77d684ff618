#pragma once

#include <ml/session.hpp>

#include "runtime/attention.hpp"
#include "runtime/feed_forward.hpp"
#include "runtime/gated_delta.hpp"
#include "runtime/workspace.hpp"

#include <memory>
#include <vector>

namespace ml {

/// The norms around the two halves of a layer; the post norms are empty where the model has none.
struct LayerNorms {
  std::vector<float> attn, ffn, post_attn, post_ffn;
};

struct Session::Impl {
  Impl(const Model& model_in, const SessionOptions& options_in) : model(model_in), options(options_in) {}

  Result<void> prepare();
  Result<void> check_tokens(std::span<const std::uint32_t> tokens) const;
  void embed(std::span<const std::uint32_t> tokens);
  void forward(std::span<const std::uint32_t> tokens);
  void classify(std::uint64_t first, std::uint64_t n_tokens);

  Model model;
  SessionOptions options;
  std::unique_ptr<Workspace> workspace;
  std::vector<LayerNorms> norms;
  std::vector<float> final_norm;
  const TensorView* classifier = nullptr;
  Attention attention;
  GatedDelta gated_delta;
  FeedForward feed_forward;
  AlignedBuffer<float> logits;           // [kLogitsBatch][vocab]
  std::vector<std::uint32_t> evaluated;  // tokens; position is their number

  std::uint32_t position() const { return static_cast<std::uint32_t>(evaluated.size()); }
};

}  // namespace ml
