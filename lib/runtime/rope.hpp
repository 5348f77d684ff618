#pragma once

#include <ml/model.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace ml {

/// Inverse frequency of each rotated pair (rot_dim / 2 of them), scaled as the rope type says (mlb(5), ROPE).
std::vector<double> rope_frequencies(const RopeDesc& rope);

/// cos and sin of one position, rot_dim / 2 of each, times the attention factor of yarn.
void rope_angles(const RopeDesc& rope, std::span<const double> frequencies, std::uint32_t position,
                 std::span<float> cosines, std::span<float> sines);

/// Rotates the leading rot_dim dimensions of one head in place.
void rotate_head(const RopeDesc& rope, std::span<const float> cosines, std::span<const float> sines,
                 float* head);

}  // namespace ml
