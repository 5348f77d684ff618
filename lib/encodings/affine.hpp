#pragma once

// Affine encodings in the layout of MLX (nanoseedlm(5), AFFINE): groups of 64 or 32 consecutive weights of a
// row.
//
//   data     codes, kBits each, unsigned, 32 / kBits in a U32 word, the first one lowest
//   scales   BF16, one a group; often negative
//   biases   BF16, one a group
//   weight   bf16(scale * code + bias), the product exact, the sum rounded once before bf16

#include <ml/encoding.hpp>

#include <optional>
#include <span>

namespace ml {

// kRounded: the format's BF16 values; else the float32 before that rounding.
template <unsigned kBits, unsigned kGroup, bool kRounded>
void decode_row_affine(const TensorView& view, std::uint64_t row, std::span<float> out);

/// Encodes consecutive groups, in float32:
///
///   delta  max((max - min) / (2^bits - 1), 1e-7)
///   scale  delta where |min| > |max|, else -delta; edge = min or max in the same way
///   q0     edge / scale rounded half away from zero; where it is not 0, scale = edge / q0 and bias = edge;
///          else bias = 0
///   code   (x - bias) / scale rounded half away from zero, clamped to 0 .. 2^bits - 1
///
/// Scale and bias are rounded to BF16 after the codes are chosen.
///
/// @param encoding  q8g64, q4g64 or q4g32
/// @param x         finite BF16 values, whole groups
/// @param codes     x.size() * bits / 8 bytes
/// @param scales    2 bytes a group, biases as well
/// @return          the first group whose range is over float32 (its output means nothing), if any
std::optional<std::uint64_t> encode_affine(Encoding encoding, std::span<const float> x, std::byte* codes,
                                           std::byte* scales, std::byte* biases);

}  // namespace ml
