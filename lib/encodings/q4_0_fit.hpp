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
/// @param x       kQ4Lanes x 32
/// @param w       kQ4Lanes x 32, the weight of each element
/// @param quants  kQ4Lanes x 16
void fit_q4_0(const float* x, const float* w, std::uint8_t* quants, Q4Fit& fit);

}  // namespace ml
