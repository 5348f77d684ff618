#pragma once

// The scales of block-quantized rows, for block_matvec.hpp and block_panels.hpp. Include after a lanes
// header.
//
//   kBiases                      a bias for each scale, of the same type
//   n_bytes(w)                   bytes of a scale
//   group_blocks(w)              blocks that share one
//   load(w, scales, b, n)        those of blocks b .. b + n - 1 of a row, b a multiple of 16, n <= 16
//   widen(w, quads, columns)     16 bytes of the scales of sixteen rows, as quads -> floats

#include "kernels/table.hpp"

namespace ml::kernels {
namespace {

inline Floats load_scales(const unsigned char* p, bool f16, std::uint64_t n) {
  if (n == kLanes) return f16 ? load_f16(p) : quads_to_floats(load_quads(p));
  return f16 ? load_f16_n(p, n) : quads_to_floats(load_quads_n(p, n * sizeof(float)));
}

// One for each block, F32 or F16.
struct BlockScales {
  static constexpr bool kBiases = false;
  static std::uint64_t n_bytes(const WeightMatrix& w) { return w.f16_scales ? 2 : 4; }
  static std::uint64_t group_blocks(const WeightMatrix&) { return 1; }
  static Floats load(const WeightMatrix& w, const unsigned char* scales, std::uint64_t b, std::uint64_t n) {
    return load_scales(scales + b * n_bytes(w), w.f16_scales, n);
  }
  static void widen(const WeightMatrix& w, const Bytes* quads, Floats* columns) {
    for (int k = 0; k < 4; ++k) {
      if (w.f16_scales) {
        columns[2 * k] = low_halves(quads[k]);
        columns[2 * k + 1] = high_halves(quads[k]);
      } else {
        columns[k] = quads_to_floats(quads[k]);
      }
    }
  }
};

// load_some(first, n) gives n scales from the first; each is repeated for the blocks of its group.
template <class LoadSome>
inline Floats load_repeated(const WeightMatrix& w, std::uint64_t b, std::uint64_t n, LoadSome load_some) {
  switch (w.group_blocks) {
    case 2: return repeat<2>(load_some(b / 2, n / 2));
    case 4: return repeat<4>(load_some(b / 4, n / 4));
    default: return load_some(b, n);
  }
}

// One for each group.
struct GroupScales : BlockScales {
  static std::uint64_t group_blocks(const WeightMatrix& w) { return w.group_blocks; }
  static Floats load(const WeightMatrix& w, const unsigned char* scales, std::uint64_t b, std::uint64_t n) {
    return load_repeated(w, b, n, [&](std::uint64_t first, std::uint64_t count) {
      return load_scales(scales + first * n_bytes(w), w.f16_scales, count);
    });
  }
};

// Scales and biases in BF16.
struct AffineScales {
  static constexpr bool kBiases = true;
  static std::uint64_t n_bytes(const WeightMatrix&) { return 2; }
  static std::uint64_t group_blocks(const WeightMatrix& w) { return w.group_blocks; }
  static Floats load(const WeightMatrix& w, const unsigned char* scales, std::uint64_t b, std::uint64_t n) {
    return load_repeated(w, b, n, [&](std::uint64_t first, std::uint64_t count) {
      return load_bf16_n(scales + 2 * first, count);
    });
  }
  static void widen(const WeightMatrix&, const Bytes* quads, Floats* columns) {
    for (int k = 0; k < 4; ++k) {
      const Ints words = quads_to_ints(quads[k]);
      columns[2 * k] = bits_to_floats(shift_left<16>(words));
      columns[2 * k + 1] = bits_to_floats(shift_left<16>(shift_right<16>(words)));
    }
  }
};

// The sums of the quants of sixteen blocks times their scales: what a bias is multiplied with.
inline Floats scaled_sums(Floats scales, Ints offsets) {
  return mul(scales, to_floats(shift_right<7>(sub(set1(std::int32_t{0}), offsets))));
}

}  // namespace
}  // namespace ml::kernels
