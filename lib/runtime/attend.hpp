#pragma once

#include "runtime/sequence.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// The queries of a layer, and where their results go.
struct AttendHeads {
  std::uint32_t n_heads;
  std::uint32_t n_kv_heads;  ///< rows of keys a position
  std::uint64_t query_dim;
  std::uint64_t value_dim;
  const float* queries;  ///< [tokens][n_heads][padded query_dim]
  float* out;            ///< a token's heads follow one another
  std::uint64_t out_stride;
};

/// Causal attention of a batch over the caches of its sequences, which hold its own positions already.
void attend(Workspace& workspace, const ModelDesc& desc, std::uint32_t layer, const Batch& batch,
            const AttendHeads& heads);

}  // namespace ml
