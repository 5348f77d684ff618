#pragma once

// Affine codes (nanoseedlm(5), AFFINE): weight = scale * code + bias. Include after a lanes header.
//
// With Q8 activations by rule 2 (ml-numerics(7)): the codes' integer dot, then the bias times the sum of the
// activations. Bound by memory as Q8_0 and Q4_0 are, the loop two instructions longer. With float activations
// the weights are made in registers (rule 3): 4 bits by a table of a group's sixteen values where a register
// holds one, four instructions for sixteen weights; 8 bits, rounded to BF16 as their format says, nine.

#include "kernels/int_group_kernels.hpp"

namespace ml::kernels {
namespace {

// Codes are multiplied as they are where the target can multiply unsigned bytes, else less 128.
struct WeightsAffine8 : WeightsQ8 {
  using Scales = AffineScales;
  using Panel = WeightsAffine8;
  static Bytes prepare(Bytes codes) { return kBiased ? codes : flip_signs(codes); }

  template <class LoadQuads>
  static Blocks load(LoadQuads load_quads) {
    Blocks blocks;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) blocks.pairs[i] = prepare(load_quads(64 * i));
    return blocks;
  }
  static Ints dot(const Blocks& blocks, const std::int8_t* x, const std::int8_t*) {
    Ints partial[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      partial[i] = dot_quads(blocks.pairs[i], kernels::load_quads(x + 64 * i), set1(std::int32_t{0}));
    }
    return reduce_eights(partial);
  }
  static Ints correction(Ints offsets) {
    const Ints zero = set1(std::int32_t{0});
    return kBiased ? zero : sub(zero, offsets);
  }
  static void pack(const unsigned char* const* rows, std::uint64_t block, Bytes* quads) {
    load_columns(rows, block * kBlockBytes, quads);
    load_columns(rows, block * kBlockBytes + 16, quads + 4);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) quads[k] = prepare(quads[k]);
  }
  static Ints dot_quads(Bytes codes, Bytes x, Ints acc) {
    return kBiased ? dot_unsigned(codes, x, acc) : dot_signed(codes, x, acc);
  }
};

struct WeightsAffine4 : WeightsInt4 {
  using Scales = AffineScales;
  using Panel = WeightsAffine4;
  static Ints correction(Ints) { return set1(std::int32_t{0}); }
};

// Rows as floats (float_rows.hpp). The product is exact but for overflow, the sum rounded once.

template <unsigned kBits, std::uint64_t kGroup>
struct AffineRow {
  const unsigned char* codes;
  const unsigned char* scales;
  const unsigned char* biases;
  AffineRow(const WeightMatrix& w, std::uint64_t r)
      : codes(w.data + r * w.row_bytes),
        scales(w.scales + r * w.row_scale_bytes),
        biases(w.biases + r * w.row_scale_bytes) {}

  template <class Use>
  void each(std::uint64_t cols, Use use) const {
    for (std::uint64_t begin = 0; begin < cols; begin += kGroup) {
      const Floats scale = broadcast_bf16(scales + begin / kGroup * 2);
      const Floats bias = broadcast_bf16(biases + begin / kGroup * 2);
      const auto value = [&](Floats code) { return add(mul(scale, code), bias); };
      if constexpr (kBits == 4) {
        const NibbleValues values(value);
#pragma GCC unroll 8
        for (std::uint64_t i = begin; i < begin + kGroup; i += kLanes) use(i, values.load(codes + i / 2));
      } else {
#pragma GCC unroll 8
        for (std::uint64_t i = begin; i < begin + kGroup; i += kLanes) {
          use(i, round_bf16(value(to_floats(load_u8(codes + i)))));
        }
      }
    }
  }

 private:
  static Floats broadcast_bf16(const unsigned char* p) {
    const auto word = load_stored<std::uint16_t>(p);
    return bits_to_floats(set1(static_cast<std::int32_t>(static_cast<std::uint32_t>(word) << 16)));
  }
  // Nearest even; as f32_to_bf16(), which has no rule for NaN.
  static Floats round_bf16(Floats x) {
    const Ints bits = floats_to_bits(x);
    const Ints odd = bit_and(shift_right<16>(bits), set1(1));
    const Ints rounded = add(add(bits, set1(0x7fff)), odd);
    return bits_to_floats(bit_and(rounded, set1(static_cast<std::int32_t>(0xffff0000u))));
  }
};

}  // namespace
}  // namespace ml::kernels
