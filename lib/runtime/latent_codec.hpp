#pragma once

// Encoding of latent caches (nanoseedlm(5), CACHE FORMATS). Elements are rounded to BF16 first.
//
//   fp8   blocks of 32: a scale byte 127 + e, e the smallest that keeps max |x| <= 448 2^e, -126 .. 127;
//   codes
//         are E4M3 of x 2^-e, nearest even
//   fp4   blocks of 16: a scale in E4M3, the one next to max |x| / 6; codes are E2M1 of x / scale, nearest
//   even,
//         at most 6; the first of a byte in its low nibble
//
// A zero has no sign. A block with an element that is not finite has a scale that is not, either.

#include <cstdint>
#include <span>

namespace ml {

/// @param x  a multiple of 32 elements; as many codes, a scale for each 32
void encode_fp8(std::span<const float> x, std::uint8_t* codes, std::uint8_t* scales);

/// @param x  a multiple of 16 elements; a byte for each two, a scale for each 16
void encode_fp4(std::span<const float> x, std::uint8_t* bytes, std::uint8_t* scales);

/// One position of a cache in the kernels' layout (kernels::latent_row).
///
/// @param x  the latent vector, then its rotated key
void encode_latent(std::span<const float> x, bool fp4, std::uint8_t* row);

}  // namespace ml
