#include "convert/gguf_arch.hpp"

#include "util/exact_math.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ml {

namespace {

// What converters divide each pair's frequency by.
double llama3_factor(double frequency, double factor, double low, double high, double orig) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < orig / high) return 1;
  if (wavelength > orig / low) return factor;
  const double smooth = (orig / wavelength - low) / (high - low);
  return 1 / ((1 - smooth) / factor + smooth);
}

bool fits(std::span<const float> factors, double log_theta, double factor, double low, double high,
          double orig) {
  constexpr double kTolerance = 1e-4;  // the converter works in float32
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(factors.size());
    const double wanted = llama3_factor(exact_exp(-exponent * log_theta), factor, low, high, orig);
    if (!(std::fabs(static_cast<double>(factors[i]) - wanted) <= kTolerance * wanted)) return false;
  }
  return true;
}

}  // namespace

Result<nlohmann::json> match_rope_factors(std::span<const float> factors, double theta,
                                          std::uint64_t orig_hint) {
  const auto refuse = [] {
    return Error{.status = Status::unsupported,
                 .message = "frequency factors are not those of llama3 scaling with any known parameters",
                 .tensor = "rope_freqs.weight"};
  };
  if (std::any_of(factors.begin(), factors.end(), [](float f) { return !std::isfinite(f) || f < 1; }))
    return refuse();
  if (!(theta > 0)) return refuse();
  const auto largest = static_cast<double>(*std::max_element(factors.begin(), factors.end()));
  if (largest == 1) return nlohmann::json();
  // Published models have the first of each list.
  std::vector<std::uint64_t> origs{8192};
  if (orig_hint != 0) origs.push_back(orig_hint);
  for (std::uint64_t orig = 16; orig <= (1u << 20); orig *= 2) origs.push_back(orig);
  constexpr std::array kLow{1.0, 2.0, 4.0};
  constexpr std::array kHigh{4.0, 2.0, 8.0, 16.0, 32.0};
  const double log_theta = exact_log(theta);
  for (const double low : kLow) {
    for (const double high : kHigh) {
      for (const std::uint64_t orig : origs) {
        if (high <= low || !fits(factors, log_theta, largest, low, high, static_cast<double>(orig))) continue;
        return nlohmann::json{{"rope_type", "llama3"},
                              {"factor", largest},
                              {"low_freq_factor", low},
                              {"high_freq_factor", high},
                              {"original_max_position_embeddings", orig}};
      }
    }
  }
  return refuse();
}

}  // namespace ml
