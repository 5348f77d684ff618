#include "encodings/q4_0.hpp"
#include "encodings/q4_0_fit.hpp"
#include "encodings/scales.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

constexpr float kSmall = 1e-6f;  // squares and cubes of weights below it would underflow

float largest_magnitude(const float* x) {
  float largest = 0;
  for (std::uint32_t j = 0; j < kBlock; ++j) largest = std::max(largest, std::fabs(x[j]));
  return largest;
}

// Stores one scale. @return false where it overflows f16
bool store_scale(float scale, ScaleType scales, std::byte* d, std::uint64_t block) {
  if (scales == ScaleType::f32) {
    store_le(d + 4 * block, scale);
    return true;
  }
  const std::uint16_t half = f32_to_f16(scale);
  store_le(d + 2 * block, half);
  return (half & 0x7fffu) < 0x7c00u;
}

// A group of blocks as fit_q4_0() takes it.
struct Group {
  float x[kQ4Lanes * kBlock];
  float w[kQ4Lanes * kBlock];
  float unit[kQ4Lanes];  // what each block was divided by; 1 mostly
  std::uint8_t quants[kQ4Lanes * kBlock / 2];
  Q4Fit fit;

  // Puts block number `lane` in, divided by `divisor` (exactly as it is where that is 1).
  void load(std::uint32_t lane, const float* block, float divisor, const float* channels, float mean_square) {
    float* out = x + lane * kBlock;
    float* weight = w + lane * kBlock;
    unit[lane] = divisor;
    if (divisor == 1) {
      std::copy_n(block, kBlock, out);
    } else {
      for (std::uint32_t j = 0; j < kBlock; ++j) out[j] = block[j] / divisor;
    }
    if (channels == nullptr) {
      for (std::uint32_t j = 0; j < kBlock; ++j) weight[j] = out[j] * out[j];
      return;
    }
    if (divisor != 1) {
      const float root = std::sqrt(mean_square) / divisor;
      mean_square = root * root;
    }
    for (std::uint32_t j = 0; j < kBlock; ++j)
      weight[j] = channels[j] * std::sqrt(mean_square + out[j] * out[j]);
  }

  void load_zeros(std::uint32_t lane) {
    std::fill_n(x + lane * kBlock, kBlock, 0.0f);
    std::fill_n(w + lane * kBlock, kBlock, 0.0f);
    unit[lane] = 1;
  }

  void fit_all() { fit_q4_0(x, w, quants, fit); }
  bool finite(std::uint32_t lane) const {
    return std::isfinite(fit.error[lane]) && std::isfinite(fit.d[lane]);
  }
};

// A block whose sums left float32's range: fitted alone, scaled to 1; without importance if that is to blame.
float refit(const float* block, const float* channels, float mean_square, std::uint8_t* quants) {
  Group group;
  const float divisor = largest_magnitude(block);
  for (std::uint32_t lane = 1; lane < kQ4Lanes; ++lane) group.load_zeros(lane);
  group.load(0, block, divisor, channels, mean_square);
  group.fit_all();
  if (!group.finite(0)) {
    group.load(0, block, divisor, nullptr, 0);
    group.fit_all();
  }
  std::copy_n(group.quants, kBlock / 2, quants);
  return group.fit.d[0] * divisor;
}

}  // namespace

std::optional<std::uint64_t> encode_q4_0_search(std::span<const float> x, const Q4Importance* importance,
                                                ScaleType scales, std::byte* quants, std::byte* d) {
  const std::uint64_t n_blocks = x.size() / kBlock;
  const float mean_square = importance != nullptr ? importance->mean_square : 0;
  const auto channels_of = [&](std::uint64_t block) {
    return importance != nullptr ? importance->channels.data() + block * kBlock : nullptr;
  };
  std::optional<std::uint64_t> overflow;
  Group group;
  for (std::uint64_t first = 0; first < n_blocks; first += kQ4Lanes) {
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(kQ4Lanes, n_blocks - first));
    for (std::uint32_t lane = 0; lane < n; ++lane) {
      const float* block = x.data() + (first + lane) * kBlock;
      const float amax = largest_magnitude(block);
      if (amax == 0) {
        group.load_zeros(lane);
      } else {
        group.load(lane, block, amax < kSmall ? amax : 1.0f, channels_of(first + lane), mean_square);
      }
    }
    for (std::uint32_t lane = n; lane < kQ4Lanes; ++lane) group.load_zeros(lane);
    group.fit_all();
    for (std::uint32_t lane = 0; lane < n; ++lane) {
      const std::uint64_t block = first + lane;
      std::uint8_t* levels = group.quants + lane * (kBlock / 2);
      const float scale = group.finite(lane)
                              ? group.fit.d[lane] * group.unit[lane]
                              : refit(x.data() + block * kBlock, channels_of(block), mean_square, levels);
      std::memcpy(quants + block * (kBlock / 2), levels, kBlock / 2);
      if (!store_scale(scale, scales, d, block) && !overflow) overflow = block;
    }
  }
  return overflow;
}

std::optional<std::uint64_t> encode_q4_0_round(std::span<const float> x, ScaleType scales, std::byte* quants,
                                               std::byte* d) {
  const std::uint64_t n_blocks = x.size() / kBlock;
  std::optional<std::uint64_t> overflow;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float* block = x.data() + b * kBlock;
    const float amax = largest_magnitude(block);
    const float m =
        *std::find_if(block, block + kBlock, [amax](float value) { return std::fabs(value) == amax; });
    const float scale = m / -8.0f;
    const float reciprocal = 1.0f / scale;
    const float inverse = std::isfinite(reciprocal) ? reciprocal : 0.0f;
    std::uint8_t nibbles[kBlock];
    for (std::uint32_t j = 0; j < kBlock; ++j) {
      const auto nibble = static_cast<std::int32_t>(block[j] * inverse + 8.5f);
      nibbles[j] = static_cast<std::uint8_t>(std::min(nibble, 15));
    }
    std::uint8_t packed[kBlock / 2];
    for (std::uint32_t j = 0; j < kBlock / 2; ++j) {
      packed[j] = static_cast<std::uint8_t>(nibbles[j] | (nibbles[j + kBlock / 2] << 4));
    }
    std::memcpy(quants + b * (kBlock / 2), packed, sizeof packed);
    if (!store_scale(scale, scales, d, b) && !overflow) overflow = b;
  }
  return overflow;
}

}  // namespace ml
