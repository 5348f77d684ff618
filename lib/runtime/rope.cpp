#include "runtime/rope.hpp"

#include "util/exact_math.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

constexpr double kTwoPi = 0x1.921fb54442d18p2;

double llama3_frequency(const RopeDesc& rope, double frequency) {
  const double wavelength = kTwoPi / frequency;
  const double original = rope.orig_max_seq;
  const double low = rope.low_freq_factor;
  const double high = rope.high_freq_factor;
  if (wavelength < original / high) return frequency;
  if (wavelength > original / low) return frequency / rope.factor;
  const double smooth = (original / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

// The dimension at which a wavelength fits `rotations` times into the original context.
double yarn_dimension(const RopeDesc& rope, double rotations) {
  return rope.rot_dim * exact_log(rope.orig_max_seq / (kTwoPi * rotations)) / (2.0 * exact_log(rope.theta));
}

void scale_yarn(const RopeDesc& rope, std::vector<double>& frequencies) {
  const double low = std::max(std::floor(yarn_dimension(rope, rope.low_freq_factor)), 0.0);
  double high = std::min(std::ceil(yarn_dimension(rope, rope.high_freq_factor)), rope.rot_dim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / rope.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

}  // namespace

std::vector<double> rope_frequencies(const RopeDesc& rope) {
  std::vector<double> frequencies(rope.rot_dim / 2);
  const double log_theta = exact_log(rope.theta);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = exact_exp(-(2.0 * static_cast<double>(i) / rope.rot_dim) * log_theta);
  }
  switch (rope.type) {
    case RopeType::plain: break;
    case RopeType::llama3:
      for (double& frequency : frequencies) frequency = llama3_frequency(rope, frequency);
      break;
    case RopeType::linear:
      for (double& frequency : frequencies) frequency /= rope.factor;
      break;
    case RopeType::yarn: scale_yarn(rope, frequencies); break;
  }
  return frequencies;
}

void rope_angles(const RopeDesc& rope, std::span<const double> frequencies, std::uint32_t position,
                 std::span<float> cosines, std::span<float> sines) {
  const double factor = rope.type == RopeType::yarn ? rope.attn_factor : 1.0;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const SinCos angle = exact_sincos(position * frequencies[i]);
    cosines[i] = static_cast<float>(angle.cos * factor);
    sines[i] = static_cast<float>(angle.sin * factor);
  }
}

void rotate_head(const RopeDesc& rope, std::span<const float> cosines, std::span<const float> sines,
                 float* head) {
  const std::size_t n_pairs = cosines.size();
  const bool interleaved = rope.layout == RopeLayout::interleaved;
  for (std::size_t i = 0; i < n_pairs; ++i) {
    float& first = head[interleaved ? 2 * i : i];
    float& second = head[interleaved ? 2 * i + 1 : i + n_pairs];
    const float x = first;
    const float y = second;
    first = x * cosines[i] - y * sines[i];
    second = x * sines[i] + y * cosines[i];
  }
}

}  // namespace ml
