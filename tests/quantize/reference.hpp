#pragma once

// The quantization rules once more, written straight from mlb(5) for one block at a time: what the fast
// encoders are compared with, bit for bit.

#include "util/half.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace reference {

struct Q8Block {
  float d = 0;  // as stored, widened
  std::array<int, 32> q = {};
};

inline Q8Block q8_0(const float* x, bool half) {
  Q8Block block;
  float amax = 0;
  for (int j = 0; j < 32; ++j) amax = std::fmax(amax, std::fabs(x[j]));
  if (amax < 1e-30f) return block;
  block.d = amax / 127.0f;
  float factor = 127.0f / amax;
  if (half) {
    block.d = ml::f16_to_f32(ml::f32_to_f16(block.d));
    if (block.d == 0) return block;
    factor = 1.0f / block.d;
  }
  for (int j = 0; j < 32; ++j) {
    const float t = std::trunc(x[j] * factor + std::copysign(0.5f, x[j]));
    block.q[j] = static_cast<int>(std::fmin(std::fmax(t, -127.0f), 127.0f));
  }
  return block;
}

struct Q4Block {
  float d = 0;  // before any rounding to f16
  std::array<int, 32> level = {};
};

inline Q4Block q4_0_round(const float* x) {
  Q4Block block;
  float m = x[0];
  for (int j = 1; j < 32; ++j) {
    if (std::fabs(x[j]) > std::fabs(m)) m = x[j];
  }
  block.d = m / -8.0f;
  const float reciprocal = 1.0f / block.d;
  if (!std::isfinite(reciprocal)) return block;
  for (int j = 0; j < 32; ++j) {
    block.level[j] = static_cast<int>(std::fmin(std::trunc(x[j] * reciprocal + 8.5f), 15.0f)) - 8;
  }
  return block;
}

// One pass over the candidates. @return false where float32 is left
inline bool q4_0_fit(const std::array<float, 32>& x, const std::array<float, 32>& w, Q4Block& block) {
  float m = x[0];
  for (int j = 1; j < 32; ++j) {
    if (std::fabs(x[j]) > std::fabs(m)) m = x[j];
  }
  float best = 0;
  for (int k = 0; k < 13; ++k) {
    const float level = static_cast<float>(-6.0 - 0.2 * k);
    const float factor = level / m;
    std::array<float, 32> l;
    float numerator = 0;
    float denominator = 0;
    for (int j = 0; j < 32; ++j) {
      l[j] = std::fmin(std::fmax(std::round(x[j] * factor), -8.0f), 7.0f);
      const float wl = w[j] * l[j];
      numerator = numerator + wl * x[j];
      denominator = denominator + wl * l[j];
    }
    const float d = denominator == 0 ? 0.0f : numerator / denominator;
    float error = 0;
    for (int j = 0; j < 32; ++j) {
      const float r = x[j] - d * l[j];
      error = error + w[j] * (r * r);
    }
    if (k == 0 || error < best) {
      best = error;
      block.d = d;
      for (int j = 0; j < 32; ++j) block.level[j] = static_cast<int>(l[j]);
    }
  }
  return std::isfinite(best) && std::isfinite(block.d);
}

// @param channels  null: no importance
inline Q4Block q4_0_search(const float* x, const float* channels, float mean_square) {
  Q4Block block;
  float amax = 0;
  for (int j = 0; j < 32; ++j) amax = std::fmax(amax, std::fabs(x[j]));
  if (amax == 0) return block;
  const auto attempt = [&](float divisor, const float* importance) {
    std::array<float, 32> scaled;
    std::array<float, 32> w;
    float square = mean_square;
    if (divisor != 1) {
      const float root = std::sqrt(mean_square) / divisor;
      square = root * root;
    }
    for (int j = 0; j < 32; ++j) {
      scaled[j] = x[j] / divisor;
      const float squared = scaled[j] * scaled[j];
      w[j] = importance == nullptr ? squared : importance[j] * std::sqrt(square + squared);
    }
    const bool finite = q4_0_fit(scaled, w, block);
    block.d = block.d * divisor;
    return finite;
  };
  if (!attempt(amax < 1e-6f ? amax : 1.0f, channels) && !attempt(amax, channels)) attempt(amax, nullptr);
  return block;
}

}  // namespace reference
