#pragma once

// Seed encodings (nanoseedlm(5), SEEDS): blocks of 8 consecutive weights of a row, each a linear combination
// of P pseudo-random columns that a 16-bit seed stands for.
//
//   S[c][p]   element (P c + p + 1) of the seed's stream of states (lfsr.hpp), less 32768
//   q_p       coefficient, 4 bits, two's complement
//   e         exponent: bias of the slice + code of the block, 0 .. 15
//   weight    bf16((sum over p of S[c][p] q_p) * (2^e / 32767)); float32, rounded once before bf16
//
//               P  data                                 scales
//   SEED4P4     4  U16 a block, q_p in bits 4p ..       a nibble a block; that of block k of the tensor is in
//                                                       byte k / 2, the low one for even k
//   SEED4       3  U16 a block, code in bits 0 .. 3,    none
//                  q_p in bits 4p + 4 ..
//   SEED6P8     8  U32 a block, q_p in bits 4p ..       as SEED4P4
//
// A seed of 0 stands for a register that stays 0: S is -32768 everywhere. Every bit pattern decodes.

#include <ml/encoding.hpp>

#include <span>

namespace ml {

/// Weights of a block.
inline constexpr std::uint32_t kSeedBlock = 8;

/// 1 / 32767 in float32, the unit of the basis.
inline constexpr float kSeedUnit = 0x1.0002p-15f;

/// scale of a block: 2^exponent / 32767. Exact; saturates outside float32's normal range, where no encoder
/// goes with coefficients other than 0.
float seed_scale(std::int32_t exponent);

// kRounded: the format's BF16 values; else the float32 before that rounding.
template <bool kRounded>
void decode_row_seed4p4(const TensorView& view, std::uint64_t row, std::span<float> out);
template <bool kRounded>
void decode_row_seed4(const TensorView& view, std::uint64_t row, std::span<float> out);
template <bool kRounded>
void decode_row_seed6p8(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
