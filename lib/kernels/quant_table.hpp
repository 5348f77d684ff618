#pragma once

// What a CPU target provides for encoding weights, as kernels::Table does for running a model. Every table
// gives the same bits.

#include "kernels/table.hpp"

#include <cstdint>

namespace ml::kernels {

/// Lengths of blocks that weights are encoded in: 32 of Q8_0 and Q4_0, 64 and 128 of others (mog(5)).
inline constexpr std::uint64_t kMaxGroup = 128;
inline constexpr int kGroups = 3;
inline constexpr int group_index(std::uint64_t group) { return group == 32 ? 0 : group == 64 ? 1 : 2; }

/// Sixteen blocks of 4-bit weights, one a lane, and what was chosen for them.
struct Q4Blocks {
  const float* x[kLanes];         ///< a block of finite weights each; lanes without a block have zeros
  const float* channels[kLanes];  ///< importance of each weight's channel; null: none, in every lane alike
  float mean_square[kLanes];      ///< of each block's row, with importance
  bool to_unit;                   ///< divide every block by its largest magnitude, not the small ones only
  bool f16;                       ///< scales will be stored as f16

  unsigned char quants[kLanes * kMaxGroup / 2];  ///< half a block's weights for each lane
  float d[kLanes];                               ///< not yet rounded to f16
  float error[kLanes];
};

/// Sums of doubles, element i in sum i mod 16.
struct ErrorSums {
  double error[kLanes];
  double source[kLanes];
};

struct QuantTable {
  /// Float32 from n little-endian f16 or bf16 numbers, exactly.
  void (*widen_f16)(const unsigned char* data, std::uint64_t n, float* out);
  void (*widen_bf16)(const unsigned char* data, std::uint64_t n, float* out);
  /// @return the largest magnitude of n floats, a multiple of 16; NaN where one of them is NaN or infinite
  float (*largest_magnitude)(const float* x, std::uint64_t n);
  /// mlb(5), Q8_0, for each group_index(). d: the scale as stored; infinite where f16 overflows.
  void (*encode_q8_0[kGroups])(const float* x, std::uint64_t n_blocks, bool f16, std::int8_t* quants,
                               float* d);
  /// mlb(5), Q4_0 round. d: the unrounded scale.
  void (*encode_q4_0_round[kGroups])(const float* x, std::uint64_t n_blocks, unsigned char* quants, float* d);
  /// mlb(5), Q4_0 search. The error is that of the weights divided by what the block was divided by.
  void (*search_q4_0[kGroups])(Q4Blocks& blocks);
  /// The same, refined (q4_0.hpp, encode_q4_0_best); blocks of 32.
  void (*refine_q4_0)(Q4Blocks& blocks);
  /// Adds (x - q d)^2 and x^2 of some thousand weights.
  /// @param unit  a normal power of two near the largest magnitude, at most 2^126
  void (*measure_q8_0)(const float* x, std::uint64_t n_blocks, const std::int8_t* quants, const float* d,
                       float unit, ErrorSums& sums);
  void (*measure_q4_0)(const float* x, std::uint64_t n_blocks, const unsigned char* quants, const float* d,
                       float unit, ErrorSums& sums);
  /// Float to IEEE half, nearest even.
  void (*to_f16)(const float* x, std::uint64_t n, std::uint16_t* out);
};

extern const QuantTable scalar_quant_table;
#if defined(__x86_64__)
extern const QuantTable avx2_quant_table;
extern const QuantTable avx512_quant_table;
#elif defined(__aarch64__)
extern const QuantTable neon_quant_table;
#endif

}  // namespace ml::kernels
