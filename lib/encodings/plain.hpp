#pragma once

#include <ml/encoding.hpp>

#include <span>

namespace ml {

// F32, F16, BF16: cols little-endian elements a row, no scales.
void decode_row_f32(const TensorView& view, std::uint64_t row, std::span<float> out);
void decode_row_f16(const TensorView& view, std::uint64_t row, std::span<float> out);
void decode_row_bf16(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
