#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// Blocks of 32 weights that have broken quantizers, each with a name, and some ordinary ones.
inline std::vector<std::pair<std::string, std::vector<float>>> edge_blocks() {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  constexpr float kMinNormal = std::numeric_limits<float>::min();
  std::vector<std::pair<std::string, std::vector<float>>> blocks;
  const auto add = [&blocks](std::string name, auto value_at) {
    std::vector<float> block;
    for (int j = 0; j < 32; ++j) block.push_back(value_at(j));
    blocks.emplace_back(std::move(name), std::move(block));
  };
  add("zero", [](int) { return 0.0f; });
  add("-0", [](int) { return -0.0f; });
  add("zeros of both signs", [](int j) { return j % 2 != 0 ? -0.0f : 0.0f; });
  add("one-hot", [](int j) { return j == 17 ? 1.0f : 0.0f; });
  add("negative one-hot", [](int j) { return j == 3 ? -2.5f : 0.0f; });
  add("equal", [](int) { return 0.37f; });
  add("equal magnitudes, first positive", [](int j) { return j % 2 != 0 ? -1.5f : 1.5f; });
  add("equal magnitudes, first negative", [](int j) { return j % 2 == 0 ? -1.5f : 1.5f; });
  add("ramp", [](int j) { return static_cast<float>(j - 16) * 0.01f; });
  add("exact Q4_0", [](int j) { return static_cast<float>(j % 16 - 8) * 0.125f; });
  add("exact Q8_0", [](int j) { return static_cast<float>(j * 8 - 127) * 0.25f; });
  add("halves", [](int j) { return (static_cast<float>(j % 16 - 8) + 0.5f) * 0.25f; });
  add("smallest denormals", [](int j) { return j % 3 == 0 ? kDenormal : -kDenormal; });
  add("denormals", [](int j) { return static_cast<float>(j - 10) * 1e-40f; });
  add("smallest normals", [](int j) { return j % 2 != 0 ? kMinNormal : -kMinNormal * 0.3f; });
  add("1e-30", [](int j) { return static_cast<float>(j) * 1e-30f / 31; });
  add("below 1e-30", [](int j) { return static_cast<float>(j) * 0.99e-30f / 31; });
  add("below 1e-6", [](int j) { return static_cast<float>(j - 13) * 0.9e-6f / 18; });
  add("just 1e-6", [](int j) { return static_cast<float>(j - 13) * 1e-6f / 18; });
  add("1e-12 with one 1e-5", [](int j) { return j == 9 ? 1e-5f : static_cast<float>(j) * 1e-12f; });
  add("largest", [](int) { return kMax; });
  add("largest of both signs", [](int j) { return j % 2 != 0 ? kMax : -kMax; });
  add("largest and nothing", [](int j) { return j == 5 ? -kMax : 0.0f; });
  add("1e10", [](int j) { return static_cast<float>(j - 16) * 1e10f; });
  add("1e20", [](int j) { return static_cast<float>(16 - j) * 1e20f; });
  add("one large, many small", [](int j) { return j == 0 ? 1e6f : 1e-3f; });
  add("f16 scales underflow", [](int j) { return static_cast<float>(j - 16) * 1e-8f; });
  std::uint64_t state = 7;
  for (int n = 0; n < 70; ++n) {
    const float size = std::ldexp(1.0f, n % 40 - 20);
    add("random " + std::to_string(n), [&state, size](int) {
      float sum = 0;
      for (int i = 0; i < 4; ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        sum += static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
      }
      return sum * size;
    });
  }
  return blocks;
}

/// All of them as one row.
inline std::vector<float> edge_row() {
  std::vector<float> row;
  for (const auto& [name, block] : edge_blocks()) {
    for (const float value : block) row.push_back(value);
  }
  return row;
}
