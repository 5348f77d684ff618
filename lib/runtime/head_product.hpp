#pragma once

#include "runtime/workspace.hpp"

namespace ml {

/// Products of each head's vector with a matrix of its own, float32 activations whatever the weights.
struct HeadProduct {
  const TensorView* maps;  ///< [n_heads x rows][cols]; cols a multiple of 16
  std::uint32_t n_heads;
  const float* x;  ///< cols floats a head, one head after the other; aligned to 64 bytes
  std::uint64_t x_head;
  std::uint64_t x_stride;  ///< from token to token
  float* out;
  std::uint64_t out_head;
  std::uint64_t out_stride;
};

void multiply_heads(Workspace& workspace, const HeadProduct& product, std::uint64_t n_tokens);

}  // namespace ml
