#pragma once

// Integers in groups, sixteen rows interleaved (`r16` of mog(5), ENCODINGS). Include after a lanes header.
//
// Lanes are rows: a unit of 64 bytes is a register, and no sum crosses lanes. Rule 2 (ml-numerics(7)) has
// sixteen sums a row, here sixteen registers, of which block b adds to number b mod 16; they are folded at
// the end. A block of sixteen rows is one stream of memory, read in order: 512 weights cost 8 units, 8 dots
// with a quad of activations that memory broadcasts, and one load, fma and store of a sum; bound by memory.
//
//   kBlockBytes         bytes of 32 weights of sixteen rows
//   load(p, quads)      their quads, ready for dot_quads()
//   correction, dot_quads  as block_matvec.hpp and block_panels.hpp say
//
// The scales of sixteen rows lie side by side.

#include "kernels/block_panels.hpp"
#include "kernels/int_group_kernels.hpp"

namespace ml::kernels {
namespace {

struct BlocksInt8 : WeightsInt8 {
  static constexpr std::uint64_t kBlockBytes = 512;
  static constexpr std::uint64_t kUnitCols = 4;
  static void load(const unsigned char* p, Bytes* quads) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) quads[k] = prepare_signed(load_quads(p + 64 * k));
  }
  // Quants of a column of a unit, as floats, once open() has had it.
  static Bytes open(Bytes unit) { return shared(unit); }
  template <int kColumn>
  static Floats column(Bytes unit) {
    return to_floats(shift_right<24>(shift_left<24 - 8 * kColumn>(quads_to_ints(unit))));
  }
};

struct BlocksInt4 : WeightsInt4 {
  static constexpr std::uint64_t kBlockBytes = 256;
  static constexpr std::uint64_t kUnitCols = 8;
  static void load(const unsigned char* p, Bytes* quads) {
#pragma GCC unroll 8
    for (int k = 0; k < 4; ++k) {
      const Bytes packed = shared(load_quads(p + 64 * k));
      quads[2 * k] = low_nibbles(packed);
      quads[2 * k + 1] = high_nibbles(packed);
    }
  }
  // Nibbles q + 8 become q, two's complement.
  static Bytes open(Bytes unit) {
    constexpr std::uint32_t kEights = 0x88888888u;
    return shared(bit_xor(unit, broadcast_quad(&kEights)));
  }
  template <int kColumn>
  static Floats column(Bytes unit) {
    constexpr int kShift = kColumn < 4 ? 28 - 8 * kColumn : 24 - 8 * (kColumn - 4);
    return to_floats(shift_right<28>(shift_left<kShift>(quads_to_ints(unit))));
  }
};

struct RowBlock {
  const unsigned char* data;
  const unsigned char* scales;
  bool f16;

  RowBlock(const WeightMatrix& w, std::uint64_t row)
      : data(w.data + row * w.row_bytes), scales(w.scales + row * w.row_scale_bytes), f16(w.f16_scales) {}
  // Those of the first group, then of the next one, ...
  Floats next_scales() {
    const unsigned char* p = scales;
    scales += kLanes * (f16 ? 2 : 4);
    return load_scales(p, f16, kLanes);
  }
};

// The fold of rule 2, over registers.
inline Floats fold_registers(Floats* sums) {
  for (std::uint64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::uint64_t i = 0; i < half; ++i) sums[i] = add(sums[i], sums[i + half]);
  }
  return sums[0];
}

// store(token, row, sums of rows row .. row + 15) for tokens [first, first + kN); row is the first of a block
// of rows.
template <class Encoding, int kN, class Store>
inline void dot_row_block(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t row,
                          std::uint64_t first, Store store) {
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  RowBlock block(w, row);
  Floats sums[kN][kLanes];
  for (auto& token : sums) {
    for (Floats& sum : token) sum = set1(0.0f);
  }
  Floats scales = set1(0.0f);
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    if (b % w.group_blocks == 0) scales = block.next_scales();
    Bytes quads[kQuads];
    Encoding::load(block.data + b * Encoding::kBlockBytes, quads);
#pragma GCC unroll 8
    for (int t = 0; t < kN; ++t) {
      const std::uint64_t at = (first + t) * x.blocks + b;
      Ints dots = Encoding::correction(set1(x.offsets[at]));
#pragma GCC unroll 8
      for (int k = 0; k < kQuads; ++k) {
        dots = Encoding::dot_quads(quads[k], broadcast_quad(x.quants + at * kBlockWeights + 4 * k), dots);
      }
      Floats& sum = sums[t][b % kLanes];
      sum = fma(to_floats(dots), mul(scales, set1(x.scales[at])), sum);
    }
  }
  for (int t = 0; t < kN; ++t) store(first + t, row, one_nan(fold_registers(sums[t])));
}

// As pack_panel(); row is the first of a block of rows.
template <class Encoding>
void pack_row_blocks(const WeightMatrix& w, std::uint64_t row, std::uint64_t row_end, unsigned char* panel) {
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  for (int g = 0; g < kTileGroups; ++g) {
    const std::uint64_t wanted = row + g * kLanes;
    RowBlock block(w, wanted < row_end ? wanted : row);
    Floats scales = set1(0.0f);
    for_blocks(n_blocks, [&](std::uint64_t b, std::uint64_t slot) {
      Bytes quads[kQuads];
      Encoding::load(block.data + b * Encoding::kBlockBytes, quads);
      arrange_columns(quads);
      unsigned char* to = panel + slot * kPanelSlot<Encoding>;
      for (int k = 0; k < kQuads; ++k) store_quads(to + (k * kTileGroups + g) * 64, quads[k]);
      if (b % w.group_blocks == 0) scales = block.next_scales();
      store(reinterpret_cast<float*>(to + kPanelScales) + g * kLanes, scales);
    });
  }
}

// Stores those of sixteen rows that lie in [row_begin, row_end).
struct RowStore {
  std::uint64_t row_begin, row_end;
  float* out;
  std::uint64_t out_stride;

  void operator()(std::uint64_t token, std::uint64_t row, Floats sums) const {
    float* to = out + token * out_stride;
    if (row >= row_begin && row + kLanes <= row_end) return store(to + row, sums);
    float rows[kLanes];
    store(rows, sums);
    for (std::uint64_t r = row; r < row + kLanes; ++r) {
      if (r >= row_begin && r < row_end) to[r] = rows[r - row];
    }
  }
};

template <class Encoding>
void matmul_q8_blocks(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t n_tokens,
                      std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                      unsigned char* scratch) {
  const RowStore store{row_begin, row_end, out, out_stride};
  const std::uint64_t first_row = row_begin / kLanes * kLanes;
  if (n_tokens < kPanelTokens) {
    for (std::uint64_t row = first_row; row < row_end; row += kLanes) {
      for_token_groups(n_tokens, [&]<int kN>(std::uint64_t first) {
        dot_row_block<Encoding, kN>(w, x, row, first, store);
      });
    }
    return;
  }
  for (std::uint64_t row = first_row; row < row_end; row += kPanelRows) {
    pack_row_blocks<Encoding>(w, row, row_end, scratch);
    multiply_panel<typename Encoding::Panel>(scratch, x.tiles, w.cols / kBlockWeights, n_tokens,
                                             [&](std::uint64_t token, std::uint64_t g, Floats sums) {
                                               if (row + g * kLanes < row_end)
                                                 store(token, row + g * kLanes, sums);
                                             });
  }
}

// Rule 3: sixteen registers of sums again, column c adds to number c mod 16.
template <class Encoding, int kT>
inline void dot_block_floats(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row,
                             const RowStore& store) {
  constexpr std::uint64_t kUnitCols = Encoding::kUnitCols;
  RowBlock block(w, row);
  Floats sums[kT][kLanes];
  for (auto& token : sums) {
    for (Floats& sum : token) sum = set1(0.0f);
  }
  Floats scales = set1(0.0f);
  for (std::uint64_t begin = 0; begin < w.cols; begin += kLanes) {
    if (begin % (w.group_blocks * kBlockWeights) == 0) scales = block.next_scales();
    const auto add_column = [&]<int kColumn>(Bytes unit, std::uint64_t in_piece) {
      const Floats weights = mul(Encoding::template column<kColumn>(unit), scales);
#pragma GCC unroll 8
      for (int t = 0; t < kT; ++t) {
        Floats& sum = sums[t][in_piece + kColumn];
        sum = fma(weights, set1(x[t * x_stride + begin + in_piece + kColumn]), sum);
      }
    };
#pragma GCC unroll 8
    for (std::uint64_t c = 0; c < kLanes; c += kUnitCols) {
      const Bytes unit = Encoding::open(load_quads(block.data + (begin + c) / kUnitCols * 64));
      add_column.template operator()<0>(unit, c);
      add_column.template operator()<1>(unit, c);
      add_column.template operator()<2>(unit, c);
      add_column.template operator()<3>(unit, c);
      if constexpr (kUnitCols == 8) {
        add_column.template operator()<4>(unit, c);
        add_column.template operator()<5>(unit, c);
        add_column.template operator()<6>(unit, c);
        add_column.template operator()<7>(unit, c);
      }
    }
  }
  for (int t = 0; t < kT; ++t) store(t, row, fold_registers(sums[t]));
}

template <class Encoding>
void matmul_f32_blocks(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t n_tokens,
                       std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                       unsigned char*) {
  for (std::uint64_t row = row_begin / kLanes * kLanes; row < row_end; row += kLanes) {
    RowStore store{row_begin, row_end, out, out_stride};
    std::uint64_t t = 0;
    for (; t + 4 <= n_tokens; t += 4, store.out += 4 * out_stride) {
      dot_block_floats<Encoding, 4>(w, x + t * x_stride, x_stride, row, store);
    }
    for (; t < n_tokens; ++t, store.out += out_stride) {
      dot_block_floats<Encoding, 1>(w, x + t * x_stride, x_stride, row, store);
    }
  }
}

}  // namespace
}  // namespace ml::kernels
