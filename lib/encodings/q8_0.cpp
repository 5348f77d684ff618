#include "encodings/q8_0.hpp"

#include "encodings/scales.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace ml {

namespace {

// As integers, magnitudes of floats keep their order, and a maximum of integers vectorizes.
template <std::uint32_t kGroup>
float largest_magnitude(const float* x) {
  std::uint32_t largest = 0;
  for (std::uint32_t j = 0; j < kGroup; ++j) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[j]) & 0x7fffffffu);
  }
  return std::bit_cast<float>(largest);
}

template <std::uint32_t kGroup>
void quantize_block(const float* x, float inverse, std::byte* quants) {
  std::int8_t q[kGroup];
  for (std::uint32_t j = 0; j < kGroup; ++j) {
    const std::int32_t level = static_cast<std::int32_t>(x[j] * inverse + std::copysign(0.5f, x[j]));
    q[j] = static_cast<std::int8_t>(std::clamp(level, -127, 127));
  }
  std::memcpy(quants, q, sizeof q);
}

template <std::uint32_t kGroup>
std::optional<std::uint64_t> encode(std::span<const float> x, ScaleType scales, std::byte* quants,
                                    std::byte* d) {
  const std::uint64_t n_blocks = x.size() / kGroup;
  std::optional<std::uint64_t> overflow;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float* block = x.data() + b * kGroup;
    const float amax = largest_magnitude<kGroup>(block);
    const bool zero = amax < 1e-30f;  // 127 / amax could overflow
    float scale = zero ? 0.0f : amax / 127.0f;
    float inverse = zero ? 0.0f : 127.0f / amax;
    if (scales == ScaleType::f16) {
      const std::uint16_t half = f32_to_f16(scale);
      scale = f16_to_f32(half);
      if (std::isinf(scale) && !overflow) overflow = b;
      inverse = scale == 0 ? 0.0f : 1.0f / scale;
      store_le(d + 2 * b, half);
    } else {
      store_le(d + 4 * b, scale);
    }
    quantize_block<kGroup>(block, inverse, quants + b * kGroup);
  }
  return overflow;
}

}  // namespace

void decode_row_q8_0(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kBlock;
  const std::byte* quants = view.data.data() + row * view.cols;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float d = load_scale(view, row * n_blocks + b);
    for (std::uint64_t j = 0; j < kBlock; ++j) {
      out[b * kBlock + j] = static_cast<float>(static_cast<std::int8_t>(quants[b * kBlock + j])) * d;
    }
  }
}

std::optional<std::uint64_t> encode_q8_0(std::span<const float> x, ScaleType scales, std::byte* quants,
                                         std::byte* d, std::uint32_t group) {
  switch (group) {
    case 64: return encode<64>(x, scales, quants, d);
    case 128: return encode<128>(x, scales, quants, d);
    default: assert(group == kBlock); return encode<kBlock>(x, scales, quants, d);
  }
}

}  // namespace ml
