#pragma once

// Q8_0 (mlb(5), Q8_0): blocks of 32 consecutive weights of a row.
//
//   quants   32 bytes a block, int8, -127 .. 127 (-128 is invalid)
//   scales   one d a block, f32 or f16, in an array of their own
//   weight   q * d

#include <ml/encoding.hpp>

#include <span>

namespace ml {

void decode_row_q8_0(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
