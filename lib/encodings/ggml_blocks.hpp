#pragma once

// Blocks of quantized tensors as ggml writes them: a block's scale and its quants stand together.
//
//   Q8_0  f16 d, 32 int8                                      q * d
//   Q4_0  f16 d, 16 bytes: element j low, j + 16 high         (nibble - 8) * d
//   Q4_1  f16 d, f16 m, 16 bytes as in Q4_0                   nibble * d + m
//   Q5_0  f16 d, u32 fifth bits, 16 bytes                     (q - 16) * d
//   Q5_1  f16 d, f16 m, u32 fifth bits, 16 bytes              q * d + m
//   Q4_K  f16 d, f16 dmin, 12 bytes of eight 6-bit scales and eight 6-bit mins, 128 bytes
//   Q5_K  as Q4_K with 32 bytes of fifth bits before the nibbles
//   Q6_K  128 bytes of low nibbles, 64 of upper bit pairs, 16 int8 scales, f16 d
//
// Q8_0 and Q4_0 hold the same quants and scales as ours with f16 scales, in another order; the others are
// only decoded.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ml {

/// Moves quants and scales of consecutive blocks apart, without a change.
///
/// @param quants  32 (Q8_0) or 16 (Q4_0) bytes a block
/// @param scales  two bytes a block
/// @return        Q8_0: the first block that holds a quant of -128, if any
std::optional<std::uint64_t> split_ggml_q8_0(const std::byte* blocks, std::uint64_t n_blocks,
                                             std::byte* quants, std::byte* scales);
void split_ggml_q4_0(const std::byte* blocks, std::uint64_t n_blocks, std::byte* quants, std::byte* scales);

/// Decodes consecutive blocks to float32; every operation is rounded to float32.
using DecodeGgmlBlocks = void (*)(const std::byte* blocks, std::uint64_t n_blocks, float* out);

/// @param name  a ggml type ("Q6_K")
/// @return      null for a type that is not decoded
DecodeGgmlBlocks find_ggml_decoder(std::string_view name);

}  // namespace ml
