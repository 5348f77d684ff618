#include <ml/sampling.hpp>

#include "kernels/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace ml {

namespace {

// SplitMix64 (Steele, Lea, Flood 2014) spreads the seed over the state.
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// xoshiro256++ 1.0 (Blackman, Vigna 2019).
std::uint64_t next_random(std::uint64_t (&s)[4]) {
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

// Uniform in [0, 1): the upper 53 bits.
double next_uniform(std::uint64_t (&state)[4]) {
  return static_cast<double>(next_random(state) >> 11) * 0x1p-53;
}

template <class Value>
Error out_of_range(const char* field, Value value, const char* rule) {
  return {.status = Status::arg, .message = fmt::format("{} is {}, must be {}", field, value, rule)};
}

}  // namespace

Result<Sampler> Sampler::create(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return out_of_range("temperature", options.temperature, "at least 0 and finite");
  }
  if (!(options.top_p > 0 && options.top_p <= 1))
    return out_of_range("top-p", options.top_p, "above 0 and at most 1");
  if (!(options.min_p >= 0 && options.min_p <= 1)) return out_of_range("min-p", options.min_p, "from 0 to 1");
  if (!(options.repeat_penalty > 0) || !std::isfinite(options.repeat_penalty)) {
    return out_of_range("repeat penalty", options.repeat_penalty, "above 0 and finite");
  }
  return Sampler(options);
}

Sampler::Sampler(const SamplingOptions& options) : options_(options) {
  std::uint64_t seed = options.seed;
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

void Sampler::accept(std::uint32_t token) {
  if (options_.repeat_penalty == 1 || options_.repeat_last == 0) return;
  std::uint32_t& count = seen_[token];
  if (recent_.size() < options_.repeat_last) {
    recent_.push_back(token);
    ++count;
    return;
  }
  ++count;
  forget(std::exchange(recent_[oldest_], token));
  oldest_ = (oldest_ + 1) % recent_.size();
}

void Sampler::forget(std::uint32_t token) {
  const auto entry = seen_.find(token);
  if (--entry->second == 0) seen_.erase(entry);
}

std::uint32_t Sampler::sample(std::span<const float> logits) {
  weights_.assign(logits.begin(), logits.end());
  for (const auto& [token, count] : seen_) {
    if (count == 0 || token >= weights_.size()) continue;  // 0: memory ended while it was taken in
    float& logit = weights_[token];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
  // A NaN never wins a comparison, so it counts as the smallest logit.
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < weights_.size(); ++i) {
    if (weights_[i] > weights_[best] || (weights_[best] != weights_[best] && weights_[i] == weights_[i]))
      best = i;
  }
  if (options_.temperature == 0) return best;

  // Probabilities relative to the best token's: e^((logit - best) / T), in our own bits.
  const float best_logit = weights_[best];
  for (float& weight : weights_)
    weight = weight == weight ? (weight - best_logit) / options_.temperature : -INFINITY;
  kernels::scalar_table.exp(weights_.data(), weights_.size(), weights_.data());

  order_.resize(weights_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto by_weight = [&](std::uint32_t a, std::uint32_t b) {
    return weights_[a] > weights_[b] || (weights_[a] == weights_[b] && a < b);
  };
  std::erase_if(
      order_, [&](std::uint32_t token) { return weights_[token] < options_.min_p || weights_[token] == 0; });
  if (order_.empty()) return best;
  std::sort(order_.begin(), order_.end(), by_weight);
  if (options_.top_k != 0 && options_.top_k < order_.size()) order_.resize(options_.top_k);

  const auto total_of = [&] {
    double total = 0;
    for (const std::uint32_t token : order_) total += weights_[token];
    return total;
  };
  double total = total_of();
  if (options_.top_p < 1) {
    double reached = 0;
    std::size_t kept = 0;
    while (kept < order_.size() && reached < total * options_.top_p) reached += weights_[order_[kept++]];
    order_.resize(std::max<std::size_t>(kept, 1));
    total = total_of();
  }
  double left = next_uniform(state_) * total;
  for (const std::uint32_t token : order_) {
    left -= weights_[token];
    if (left < 0) return token;
  }
  return order_.back();
}

}  // namespace ml
