#pragma once

// What the seed search (quantize/seed_search.hpp) asks of a CPU target. Both kernels work on sixteen blocks
// of eight weights, a block a lane, and go through positions of the cycle of the shift register: position i
// stands for the seed that is its state i.

#include <cstdint>

namespace ml::kernels {

inline constexpr std::uint32_t kSeedLanes = 16;
inline constexpr std::uint32_t kSeedWeights = 8;  ///< of a block

/// Floats of SeedTable::exact for a seed.
///
///   P = 3   inverse 00 01 02 11 12 22 of the Gram matrix, then its factor R (R^T R) 00 01 02 11 12 22
///   P = 4   factor L (L L^T) 00 10 11 20 21 22 30 31 32 33, then the reciprocals of its diagonal
inline constexpr std::uint32_t kSeedExact = 16;

/// Floats of SeedTable::bounds for a seed: what the bound gives away to rounding, then the Gram matrix' L D
/// L^T: P reciprocals of D, then the elements below the diagonal of L's inverse, row by row.
inline constexpr std::uint32_t kSeedBounds = 12;

/// All seeds for one column group, by position.
struct SeedTable {
  const float* states;  ///< state - 32768 in units of 1 / 32767; 40 more repeat the first ones
  const float* exact;
  const float* bounds;
  float scale[kSeedWeights];  ///< of each column: 1, or the root of its importance
};

struct SeedBlocks {
  float x[kSeedWeights][kSeedLanes];     ///< weights times scale
  float norm[kSeedLanes];                ///< sum of their squares
  float taps[kSeedWeights][kSeedLanes];  ///< for the scan: x times scale over the root of norm
  float need[kSeedLanes];  ///< for the scan: the share of norm that a seed must explain to count
  // The best candidate so far. Among equals the lowest seed, then the earliest candidate.
  float error[kSeedLanes];
  std::int32_t seed[kSeedLanes];
  std::int32_t exponent[kSeedLanes];
};

/// Tries seeds on all lanes exactly as nanoseedlm(5), SEED SEARCH says, in float32, nothing fused.
///
/// @param positions  `n` of them
/// @param seeds      the seed of each position, for the order among equals
/// @param low        the smallest exponent; the largest is low + 15
using SeedTry = void (*)(const SeedTable& table, const std::uint16_t* positions, std::uint32_t n,
                         const std::uint16_t* seeds, std::int32_t low, SeedBlocks& blocks);

/// Writes those positions of [begin, end) that may explain what a lane needs; a bound that rounds as it
/// likes, so the list may differ between targets (never what the search finds).
///
/// @param found  room for kSeedScanRoom times end - begin
/// @return       how many; a position may be there more than once
inline constexpr std::uint32_t kSeedScanRoom = 5;
using SeedScan = std::uint32_t (*)(const SeedTable& table, std::uint32_t begin, std::uint32_t end,
                                   const SeedBlocks& blocks, std::uint16_t* found);

}  // namespace ml::kernels
