#pragma once

#include <ml/session.hpp>

#include "runtime/kv_cache.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ml {

/// What one sequence remembers: its tokens, and for each layer a KV cache or the state of linear attention.
class Sequence {
 public:
  /// @error nomem
  static Result<Sequence> create(const ModelDesc& desc, const SessionOptions& options);

  std::uint32_t position() const { return static_cast<std::uint32_t>(tokens.size()); }
  KvCache& cache(std::uint32_t layer) { return layers_[layer].cache; }
  const KvCache& cache(std::uint32_t layer) const { return layers_[layer].cache; }
  /// Recurrent states [v_heads][k_dim][v_dim] of a linear-attention layer.
  float* recurrent(std::uint32_t layer) { return layers_[layer].state.data(); }
  /// Its last inputs [conv - 1][channels], oldest first.
  float* history(std::uint32_t layer) { return layers_[layer].state.data() + n_recurrent_; }
  /// Both, one after the other.
  std::span<float> state(std::uint32_t layer) {
    return {layers_[layer].state.data(), layers_[layer].state.size()};
  }
  /// Forgets all tokens, and the mark.
  void reset();
  /// See Session.
  Result<void> mark();
  Result<std::uint32_t> rewind(std::uint32_t position);
  void forget_mark() { mark_.reset(); }
  std::uint64_t n_bytes() const;

  std::vector<std::uint32_t> tokens;  ///< evaluated

 private:
  struct Layer {
    KvCache cache;
    AlignedBuffer<float> state;
    AlignedBuffer<float> marked_state;
  };
  std::vector<Layer> layers_;
  std::uint64_t n_recurrent_ = 0;
  std::optional<std::uint32_t> mark_;  // position
};

/// Consecutive tokens of one sequence within a pass.
struct Run {
  Sequence* sequence;
  std::uint64_t first;  ///< row of its first token
  std::uint64_t n_tokens;
  std::uint32_t position;  ///< of its first token
};

/// The tokens of one pass: runs of one or more sequences, no sequence twice.
class Batch {
 public:
  /// Adds the next tokens of a sequence.
  void add(Sequence& sequence, std::span<const std::uint32_t> next) {
    runs_.push_back({&sequence, tokens_.size(), next.size(), sequence.position()});
    tokens_.insert(tokens_.end(), next.begin(), next.end());
    run_of_row_.insert(run_of_row_.end(), next.size(), static_cast<std::uint32_t>(runs_.size() - 1));
  }
  std::uint64_t n_tokens() const { return tokens_.size(); }
  std::uint32_t token(std::uint64_t row) const { return tokens_[row]; }
  std::span<const Run> runs() const { return runs_; }
  const Run& run_of(std::uint64_t row) const { return runs_[run_of_row_[row]]; }
  std::uint32_t position(std::uint64_t row) const {
    const Run& run = run_of(row);
    return run.position + static_cast<std::uint32_t>(row - run.first);
  }
  std::span<const std::uint32_t> tokens_of(const Run& run) const {
    return std::span(tokens_).subspan(run.first, run.n_tokens);
  }

 private:
  std::vector<std::uint32_t> tokens_;
  std::vector<std::uint32_t> run_of_row_;
  std::vector<Run> runs_;
};

}  // namespace ml
