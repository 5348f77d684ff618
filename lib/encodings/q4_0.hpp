#pragma once

// Q4_0 (mlb(5), Q4_0): blocks of 32 consecutive weights of a row.
//
//   quants   16 bytes a block; byte j holds element j in its low nibble, element j + 16 in its high nibble
//   scales   one d a block, f32 or f16, in an array of their own; d may be negative
//   weight   (nibble - 8) * d

#include <ml/encoding.hpp>

#include <span>

namespace ml {

void decode_row_q4_0(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
