#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ml {

struct SamplingOptions {
  float temperature = 0;           ///< 0: greedy, the first of the largest logits
  std::uint32_t top_k = 0;         ///< 0: all
  float top_p = 1;                 ///< smallest set whose probability reaches it
  float min_p = 0;                 ///< drops tokens below this share of the best one's probability
  float repeat_penalty = 1;        ///< divides positive, multiplies negative logits of seen tokens
  std::uint32_t repeat_last = 64;  ///< how many of the last tokens count as seen
  std::uint64_t seed = 0;
};

/// Draws token ids from logits: the same options, seed and logits give the same ids everywhere.
class ML_API Sampler {
 public:
  /// @error arg  a value outside its range; the message names it
  static Result<Sampler> create(const SamplingOptions& options);

  /// Tells the repetition penalty what was said (the prompt, and each drawn token).
  void accept(std::uint32_t token);

  /// @param logits  vocab floats  @return the id drawn
  std::uint32_t sample(std::span<const float> logits);

 private:
  explicit Sampler(const SamplingOptions& options);
  SamplingOptions options_;
  std::uint64_t state_[4];
  void forget(std::uint32_t token);
  std::vector<std::uint32_t> recent_;            // at most repeat_last, then a ring
  std::size_t oldest_ = 0;                       // of a full ring
  std::map<std::uint32_t, std::uint32_t> seen_;  // token -> how often it is in recent_
  std::vector<std::uint32_t> order_;
  std::vector<float> weights_;
};

}  // namespace ml
