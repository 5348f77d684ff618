#pragma once

#include <ml/evaluation.hpp>
#include <ml/model.hpp>
#include <ml/session.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace ml {

/// A model's logits over a few tokens, to compare others with.
class LogitsBase {
 public:
  /// @param tokens  at least 2; used from their end, as many as memory and context allow
  /// @param most    tokens
  static Result<LogitsBase> create(const Model& model, std::span<const std::uint32_t> tokens,
                                   std::uint32_t most, const SessionOptions& options);

  /// Divergence and perplexities of another model on them.
  Result<EvaluationSums> compare(const Model& other) const;

 private:
  SessionOptions options_;
  std::vector<std::uint32_t> tokens_;
  std::vector<float> logits_;  // [tokens - 1][vocab]
};

}  // namespace ml
