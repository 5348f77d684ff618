#pragma once

// Q4_0 (mlb(5), Q4_0): blocks of 32 consecutive weights of a row.
//
//   quants   16 bytes a block; byte j holds element j in its low nibble, element j + 16 in its high nibble
//   scales   one d a block, f32 or f16, in an array of their own; d may be negative
//   weight   (nibble - 8) * d

#include <ml/encoding.hpp>

#include "kernels/quant_table.hpp"

#include <optional>
#include <span>

namespace ml {

void decode_row_q4_0(const TensorView& view, std::uint64_t row, std::span<float> out);

/// What an importance matrix says about rows of weights.
struct Q4Importance {
  std::span<const float> channels;      ///< of each column, > 0
  std::span<const float> mean_squares;  ///< mean x^2 of each row
};

/// Encodes rows of blocks by the search rule (mlb(5), QUANTIZATION), in float32:
///
///   m      the first element of the largest magnitude
///   w_j    x_j^2, or channel_j * sqrt(mean_square + x_j^2)
///   for L = -6.0, -6.2 ... -8.4:
///     l_j    x_j * (L / m), rounded to nearest (half away from zero), clamped to -8 .. 7
///     d      sum((w l) x) / sum((w l) l), 0 where the denominator is 0
///     error  sum(w (r r)), r = x - d l
///   the smallest error wins, the first among equals; an all-zero block has d = 0, every level 0
///
/// A block whose |m| is below 1e-6 is divided by |m| first and its d multiplied by it afterwards; so is a
/// block whose sums leave the range of float32. Every sum runs in element order; nothing is fused.
///
/// @param x           finite, whole blocks; with importance whole rows of importance->channels.size()
/// @param importance  null: none
/// @param quants      x.size() / 2 bytes
/// @param stored      a scale of that type for each block; f16 scales are rounded after the choice
/// @param d           the same scales as float32
/// @param group       weights of a block: 32 for Q4_0; 64, 128 for encodings of mog(5)
/// @return            the first block whose scale overflows (its output means nothing), if any
std::optional<std::uint64_t> encode_q4_0_search(const kernels::QuantTable& table, std::span<const float> x,
                                                const Q4Importance* importance, ScaleType scales,
                                                std::byte* quants, std::byte* stored, float* d,
                                                std::uint32_t group = kBlock);

/// The same, with the search as the starting point of a better one: least-squares scales for 96 more places
/// of the largest element, 4 to 9.75 by quarters and 10 to 21.5 by halves on both sides of zero; the one that
/// explains most of sum(w x^2) is refined four times (levels nearest to x / d, then their least-squares d);
/// last, levels for d as it is stored. Where that is not better than the search by one part in 2^18 of its
/// error, summed in double with scales as they are stored, the block is the search's.
std::optional<std::uint64_t> encode_q4_0_best(const kernels::QuantTable& table, std::span<const float> x,
                                              const Q4Importance* importance, ScaleType scales,
                                              std::byte* quants, std::byte* stored, float* d);

/// Encodes consecutive blocks by the round rule, as checkpoints trained for Q4_0 expect:
///
///   d = m / -8, level = min(trunc(x * (1 / d) + 8.5), 15) - 8; where 1 / d is not finite every level is 0
///
/// F16 scales: the levels come from the unrounded d. Parameters and result as above.
std::optional<std::uint64_t> encode_q4_0_round(const kernels::QuantTable& table, std::span<const float> x,
                                               ScaleType scales, std::byte* quants, std::byte* stored,
                                               float* d, std::uint32_t group = kBlock);

}  // namespace ml
