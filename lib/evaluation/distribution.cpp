#include <ml/evaluation.hpp>

#include "evaluation/exp_double.hpp"
#include "util/exact_math.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

// Sums run in eight lanes, element i in lane i mod 8, which are then folded 4 + 4, 2 + 2, 1 + 1.
constexpr std::size_t kLanes = 8;

struct Lanes {
  double lane[kLanes] = {};
  double fold() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

double largest(std::span<const float> logits) {
  float lane[kLanes];
  std::fill_n(lane, kLanes, logits[0]);
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] = lane[k] < logits[i + k] ? logits[i + k] : lane[k];
  }
  float max = *std::max_element(lane, lane + kLanes);
  for (; i < logits.size(); ++i) max = std::max(max, logits[i]);
  return max;
}

// x - x is 0 for finite numbers alone.
bool all_finite(std::span<const float> logits) {
  float lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] += logits[i + k] - logits[i + k];
  }
  for (; i < logits.size(); ++i) lane[0] += logits[i] - logits[i];
  return std::all_of(lane, lane + kLanes, [](float x) { return x == 0; });
}

double sum_of_exps(std::span<const float> logits, double max) {
  Lanes sum;
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k)
      sum.lane[k] += exp_of_negative(static_cast<double>(logits[i + k]) - max);
  }
  for (std::size_t k = 0; i < logits.size(); ++i, ++k)
    sum.lane[k] += exp_of_negative(static_cast<double>(logits[i]) - max);
  return sum.fold();
}

std::array<std::uint32_t, kTopTokens> likeliest(std::span<const float> logits) {
  std::array<std::uint32_t, kTopTokens> top;
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < logits.size(); ++i) {
    if (n == kTopTokens && !(logits[i] > logits[top[kTopTokens - 1]])) continue;
    std::size_t at = n < kTopTokens ? n++ : kTopTokens - 1;
    for (; at > 0 && logits[i] > logits[top[at - 1]]; --at) top[at] = top[at - 1];
    top[at] = i;
  }
  std::fill(top.begin() + static_cast<std::ptrdiff_t>(n), top.end(), kNoTop);
  return top;
}

}  // namespace

Result<TokenScore> score_token(std::span<const float> logits, std::uint32_t token) {
  if (!all_finite(logits)) {
    const auto bad = std::find_if_not(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
    return Error{.status = Status::format,
                 .message = fmt::format("logit of token {} is {}, must be finite: the weights are not sound",
                                        bad - logits.begin(), std::isnan(*bad) ? "NaN" : "infinite")};
  }
  TokenScore score;
  score.max = largest(logits);
  score.log_sum = exact_log(sum_of_exps(logits, score.max));
  score.nll = score.log_sum + (score.max - static_cast<double>(logits[token]));
  score.top = likeliest(logits);
  return score;
}

double kl_divergence(std::span<const float> base, std::span<const float> other,
                     const TokenScore& other_score) {
  // With a = base - its maximum, b = other - its maximum, p = e^a / Z: the sum of p (a - b), less log Z,
  // plus the other's log Z.
  const double base_max = largest(base);
  const double other_max = other_score.max;
  Lanes weight;
  Lanes weighted;
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double a = static_cast<double>(base[i]) - base_max;
    const double p = exp_of_negative(a);
    weight.lane[lane] += p;
    weighted.lane[lane] += p * (a - (static_cast<double>(other[i]) - other_max));
  };
  std::size_t i = 0;
  for (; i + kLanes <= base.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) add(i + k, k);
  }
  for (std::size_t k = 0; i < base.size(); ++i, ++k) add(i, k);
  const double total = weight.fold();
  return std::max(0.0, weighted.fold() / total + (other_score.log_sum - exact_log(total)));
}

}  // namespace ml
