#pragma once

#include <bit>
#include <cstdint>

namespace ml {

/// IEEE half to float, exactly; a signalling NaN becomes quiet, as in hardware.
inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24 is exact
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Float to IEEE half, nearest even; overflow gives infinity, a NaN stays a (quiet) NaN.
inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 2^16 or more
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // normal half
    const std::uint32_t rebiased = magnitude - (112u << 23);
    result = (rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13;
  } else {  // subnormal half: adding 0.5 aligns the mantissa and rounds to nearest even
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    result = std::bit_cast<std::uint32_t>(aligned) - std::bit_cast<std::uint32_t>(0.5f);
  }
  return static_cast<std::uint16_t>(sign | result);
}

/// Float to BF16, nearest even, of a number (a NaN may become infinity).
inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float bf16_to_f32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace ml
