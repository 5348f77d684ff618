#pragma once

#include <cstdint>

namespace ml {

/// Blocks that fit_q4_0() works on at once.
inline constexpr std::uint32_t kQ4Lanes = 8;

struct Q4Fit {
  float d[kQ4Lanes];
  float error[kQ4Lanes];  ///< weighted squared error of the choice
};

/// Searches the best scale and levels of kQ4Lanes blocks (encode_q4_0_search() states the rule), without
/// scaling and rounding d.
///
/// @tparam kGroup  weights of a block: 32, 64 or 128
/// @param x        kQ4Lanes x kGroup
/// @param w        kQ4Lanes x kGroup, the weight of each element
/// @param quants   kQ4Lanes x kGroup / 2
template <std::uint32_t kGroup>
void fit_q4_0(const float* x, const float* w, std::uint8_t* quants, Q4Fit& fit);

}  // namespace ml
