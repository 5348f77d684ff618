#pragma once

// Q8_0 (mlb(5), Q8_0): blocks of 32 consecutive weights of a row.
//
//   quants   32 bytes a block, int8, -127 .. 127 (-128 is invalid)
//   scales   one d a block, f32 or f16, in an array of their own
//   weight   q * d

#include <ml/encoding.hpp>

#include "kernels/quant_table.hpp"

#include <optional>
#include <span>

namespace ml {

void decode_row_q8_0(const TensorView& view, std::uint64_t row, std::span<float> out);

/// Encodes consecutive blocks (mlb(5), QUANTIZATION), in float32:
///
///   amax < 1e-30   d = 0, every q = 0
///   f32 scales     d = amax / 127, q = trunc(x * (127 / amax) + copysign(0.5, x))
///   f16 scales     d = f16(amax / 127), q = trunc(x * (1 / d) + copysign(0.5, x)), 0 where d is 0
///   both           q clamped to -127 .. 127
///
/// @param x       finite, a multiple of `group`
/// @param quants  x.size() bytes
/// @param stored  a scale of that type for each block
/// @param d       the same scales as float32
/// @param group   weights of a block: 32 for Q8_0; 64, 128 for encodings of mog(5)
/// @return        the first block whose scale overflows (its output means nothing), if any
std::optional<std::uint64_t> encode_q8_0(const kernels::QuantTable& table, std::span<const float> x,
                                         ScaleType scales, std::byte* quants, std::byte* stored, float* d,
                                         std::uint32_t group = kBlock);

}  // namespace ml
