#include "encodings/q4_0.hpp"
#include "encodings/q4_0_fit.hpp"
#include "encodings/scales.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ml {

namespace {

constexpr float kSmall = 1e-6f;  // squares and cubes of weights below it would underflow

template <std::uint32_t kGroup>
float largest_magnitude(const float* x) {
  float largest = 0;
  for (std::uint32_t j = 0; j < kGroup; ++j) largest = std::max(largest, std::fabs(x[j]));
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

// Blocks as fit_q4_0() takes them.
template <std::uint32_t kGroup>
struct Group {
  float x[kQ4Lanes * kGroup];
  float w[kQ4Lanes * kGroup];
  float unit[kQ4Lanes];  // what each block was divided by; 1 mostly
  std::uint8_t quants[kQ4Lanes * kGroup / 2];
  Q4Fit fit;

  // Puts block number `lane` in, divided by `divisor` (exactly as it is where that is 1).
  void load(std::uint32_t lane, const float* block, float divisor, const float* channels, float mean_square) {
    float* out = x + lane * kGroup;
    float* weight = w + lane * kGroup;
    unit[lane] = divisor;
    if (divisor == 1) {
      std::copy_n(block, kGroup, out);
    } else {
      for (std::uint32_t j = 0; j < kGroup; ++j) out[j] = block[j] / divisor;
    }
    if (channels == nullptr) {
      for (std::uint32_t j = 0; j < kGroup; ++j) weight[j] = out[j] * out[j];
      return;
    }
    if (divisor != 1) {
      const float root = std::sqrt(mean_square) / divisor;
      mean_square = root * root;
    }
    for (std::uint32_t j = 0; j < kGroup; ++j)
      weight[j] = channels[j] * std::sqrt(mean_square + out[j] * out[j]);
  }

  void load_zeros(std::uint32_t lane) {
    std::fill_n(x + lane * kGroup, kGroup, 0.0f);
    std::fill_n(w + lane * kGroup, kGroup, 0.0f);
    unit[lane] = 1;
  }

  void fit_all() { fit_q4_0<kGroup>(x, w, quants, fit); }
  bool finite(std::uint32_t lane) const {
    return std::isfinite(fit.error[lane]) && std::isfinite(fit.d[lane]);
  }
};

// A block whose sums left float32's range: fitted alone, scaled to 1; without importance if that is to blame.
template <std::uint32_t kGroup>
float refit(const float* block, const float* channels, float mean_square, std::uint8_t* quants) {
  Group<kGroup> group;
  const float divisor = largest_magnitude<kGroup>(block);
  for (std::uint32_t lane = 1; lane < kQ4Lanes; ++lane) group.load_zeros(lane);
  group.load(0, block, divisor, channels, mean_square);
  group.fit_all();
  if (!group.finite(0)) {
    group.load(0, block, divisor, nullptr, 0);
    group.fit_all();
  }
  std::copy_n(group.quants, kGroup / 2, quants);
  return group.fit.d[0] * divisor;
}

template <std::uint32_t kGroup>
std::optional<std::uint64_t> search(std::span<const float> x, const Q4Importance* importance,
                                    ScaleType scales, std::byte* quants, std::byte* d) {
  const std::uint64_t n_blocks = x.size() / kGroup;
  const float mean_square = importance != nullptr ? importance->mean_square : 0;
  const auto channels_of = [&](std::uint64_t block) {
    return importance != nullptr ? importance->channels.data() + block * kGroup : nullptr;
  };
  std::optional<std::uint64_t> overflow;
  Group<kGroup> group;
  for (std::uint64_t first = 0; first < n_blocks; first += kQ4Lanes) {
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(kQ4Lanes, n_blocks - first));
    for (std::uint32_t lane = 0; lane < n; ++lane) {
      const float* block = x.data() + (first + lane) * kGroup;
      const float amax = largest_magnitude<kGroup>(block);
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
      std::uint8_t* levels = group.quants + lane * (kGroup / 2);
      const float scale = group.finite(lane) ? group.fit.d[lane] * group.unit[lane]
                                             : refit<kGroup>(x.data() + block * kGroup, channels_of(block),
                                                             mean_square, levels);
      std::memcpy(quants + block * (kGroup / 2), levels, kGroup / 2);
      if (!store_scale(scale, scales, d, block) && !overflow) overflow = block;
    }
  }
  return overflow;
}

template <std::uint32_t kGroup>
std::optional<std::uint64_t> round(std::span<const float> x, ScaleType scales, std::byte* quants,
                                   std::byte* d) {
  const std::uint64_t n_blocks = x.size() / kGroup;
  std::optional<std::uint64_t> overflow;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float* block = x.data() + b * kGroup;
    const float amax = largest_magnitude<kGroup>(block);
    const float m =
        *std::find_if(block, block + kGroup, [amax](float value) { return std::fabs(value) == amax; });
    const float scale = m / -8.0f;
    const float reciprocal = 1.0f / scale;
    const float inverse = std::isfinite(reciprocal) ? reciprocal : 0.0f;
    std::uint8_t nibbles[kGroup];
    for (std::uint32_t j = 0; j < kGroup; ++j) {
      const auto nibble = static_cast<std::int32_t>(block[j] * inverse + 8.5f);
      nibbles[j] = static_cast<std::uint8_t>(std::min(nibble, 15));
    }
    std::uint8_t packed[kGroup / 2];
    for (std::uint32_t j = 0; j < kGroup / 2; ++j) {
      packed[j] = static_cast<std::uint8_t>(nibbles[j] | (nibbles[j + kGroup / 2] << 4));
    }
    std::memcpy(quants + b * (kGroup / 2), packed, sizeof packed);
    if (!store_scale(scale, scales, d, b) && !overflow) overflow = b;
  }
  return overflow;
}

}  // namespace

std::optional<std::uint64_t> encode_q4_0_search(std::span<const float> x, const Q4Importance* importance,
                                                ScaleType scales, std::byte* quants, std::byte* d,
                                                std::uint32_t group) {
  switch (group) {
    case 64: return search<64>(x, importance, scales, quants, d);
    case 128: return search<128>(x, importance, scales, quants, d);
    default: assert(group == kBlock); return search<kBlock>(x, importance, scales, quants, d);
  }
}

std::optional<std::uint64_t> encode_q4_0_round(std::span<const float> x, ScaleType scales, std::byte* quants,
                                               std::byte* d, std::uint32_t group) {
  switch (group) {
    case 64: return round<64>(x, scales, quants, d);
    case 128: return round<128>(x, scales, quants, d);
    default: assert(group == kBlock); return round<kBlock>(x, scales, quants, d);
  }
}

}  // namespace ml
