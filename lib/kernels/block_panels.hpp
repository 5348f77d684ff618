#pragma once

// Block-quantized weights times a batch of tokens (ml-numerics(7), rule 2). Include after a lanes header.
//
// Lanes are rows: a panel of kPanelRows rows is packed into scratch once and multiplied with every tile of
// kTileTokens tokens, which were packed before. Block by block,
//
//   panel  [slot]  quads [k = 0 .. 7][group][64], weights 4 k .. 4 k + 3 of the sixteen rows of a group, in
//                  the order that arrange_columns gives them; scales [group][16], float32; biases as the
//                  scales, where the encoding has them
//   tile   [slot]  quants [token][32]; offsets [token], int32; scales [token], float32; up to whole 64 bytes
//
// Rule 2 adds block b in lane b mod 16 and folds the lanes at the end. Here one register adds the blocks of
// one lane after the other; so the slots are in the order in which the fold needs the lanes (0, 8, 4, 12, 2,
// ...), and each finished lane is folded with the finished ones before it, of which a stack of four is left.
//
// An encoding gives, beside what block_matvec.hpp says,
//
//   pack(rows, block, quads)   the quads of one block of sixteen rows
//   dot_quads(weights, x, acc)
//   Panel                      the encoding whose correction() and dot_quads() these are

#include "kernels/block_matvec.hpp"
#include "kernels/table.hpp"
#include "kernels/tile_sums.hpp"
#include "kernels/vector_kernels.hpp"

#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "kernels/arm/pair_dots.hpp"
#else
#include "kernels/quad_dots.hpp"
#endif

#include <cstring>

namespace ml::kernels {
namespace {

inline constexpr std::uint64_t kPanelRows = kTileGroups * kLanes;
inline constexpr std::uint64_t kPanelScales = kPanelRows * kBlockWeights;  // offset in a slot of a panel
inline constexpr std::uint64_t kPanelBiases = kPanelScales + kPanelRows * sizeof(float);
template <class Encoding>
inline constexpr std::uint64_t kPanelSlot = kPanelBiases +
                                            (Encoding::Scales::kBiases ? kPanelRows * sizeof(float) : 0);
static_assert(kPanelRows <= kMaxPanelRows);

inline constexpr std::uint64_t kTileOffsets = kTileTokens * kBlockWeights;  // offsets in a slot of a tile
inline constexpr std::uint64_t kTileScales = kTileOffsets + kTileTokens * sizeof(std::int32_t);
inline constexpr std::uint64_t kTileSlot = (kTileScales + kTileTokens * sizeof(float) + 63) / 64 * 64;
static_assert(kMaxTileTokens % kTileTokens == 0 && kMaxTileTokens / kTileTokens * kTileSlot <= kMaxTileSlot);

// Calls place(block, slot) for all blocks in order; slot is the block's place in a panel.
template <class Place>
inline void for_blocks(std::uint64_t n_blocks, Place place) {
  std::uint64_t next[kLanes];
  std::uint64_t slot = 0;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    const std::uint64_t lane = fold_order(i);
    next[lane] = slot;
    slot += (n_blocks + kLanes - 1 - lane) / kLanes;
  }
  for (std::uint64_t b = 0; b < n_blocks; ++b) place(b, next[b % kLanes]++);
}

// Scales (or biases) of one group of rows: 16 bytes of each row hold those of four or of eight groups. Those
// of the first slot go to `first`.
template <class Encoding>
inline void pack_scales(const WeightMatrix& w, const unsigned char* const* rows, unsigned char* first) {
  using Scales = typename Encoding::Scales;
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  const std::uint64_t per_group = Scales::group_blocks(w);
  const std::uint64_t n_bytes = Scales::n_bytes(w);
  const std::uint64_t row_bytes = n_blocks / per_group * n_bytes;
  unsigned char tails[kLanes][16] = {};
  const unsigned char* tail_rows[kLanes];
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    std::memcpy(tails[i], rows[i] + row_bytes / 16 * 16, row_bytes % 16);
    tail_rows[i] = tails[i];
  }
  Floats columns[8];
  for_blocks(n_blocks, [&](std::uint64_t block, std::uint64_t slot) {
    const std::uint64_t group = block / per_group;
    const std::uint64_t offset = group * n_bytes;
    if (offset % 16 == 0 && block % per_group == 0) {
      Bytes quads[4];
      const bool tail = offset + 16 > row_bytes;
      load_columns(tail ? tail_rows : rows, tail ? 0 : offset, quads);
      Scales::widen(w, quads, columns);
    }
    store(reinterpret_cast<float*>(first + slot * kPanelSlot<Encoding>), columns[group % (16 / n_bytes)]);
  });
}

// Packs rows [row, row_end), the last one again and again to fill the panel.
template <class Encoding>
void pack_panel(const WeightMatrix& w, std::uint64_t row, std::uint64_t row_end, unsigned char* panel) {
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  for (int g = 0; g < kTileGroups; ++g) {
    const unsigned char* rows[kLanes];
    const unsigned char* scale_rows[kLanes];
    const unsigned char* bias_rows[kLanes];
    for (std::uint64_t i = 0; i < kLanes; ++i) {
      const std::uint64_t wanted = row + g * kLanes + i;
      const std::uint64_t from = wanted < row_end ? wanted : row_end - 1;
      rows[i] = w.data + from * w.row_bytes;
      scale_rows[i] = w.scales + from * w.row_scale_bytes;
      if (Encoding::Scales::kBiases) bias_rows[i] = w.biases + from * w.row_scale_bytes;
    }
    for_blocks(n_blocks, [&](std::uint64_t block, std::uint64_t slot) {
      Bytes columns[kQuads];
      Encoding::pack(rows, block, columns);
      arrange_columns(columns);
      unsigned char* to = panel + slot * kPanelSlot<Encoding> + g * 64;
      for (int k = 0; k < kQuads; ++k) store_quads(to + k * kTileGroups * 64, columns[k]);
    });
    unsigned char* scales = panel + kPanelScales + g * kLanes * sizeof(float);
    pack_scales<Encoding>(w, scale_rows, scales);
    if constexpr (Encoding::Scales::kBiases) {
      pack_scales<Encoding>(w, bias_rows, scales + (kPanelBiases - kPanelScales));
    }
  }
}

// A tile of tokens gets one more; x holds its row alone.
void pack_token(const QuantizedActs& x, std::uint64_t cols, std::uint64_t token, unsigned char* tiles) {
  const std::uint64_t n_blocks = cols / kBlockWeights;
  const std::uint64_t t = token % kTileTokens;
  unsigned char* tile = tiles + token / kTileTokens * n_blocks * kTileSlot;
  for_blocks(n_blocks, [&](std::uint64_t block, std::uint64_t slot) {
    unsigned char* to = tile + slot * kTileSlot;
    std::memcpy(to + t * kBlockWeights, x.quants + block * kBlockWeights, kBlockWeights);
    std::memcpy(to + kTileOffsets + t * 4, x.offsets + block, 4);
    std::memcpy(to + kTileScales + t * 4, x.scales + block, 4);
  });
}

// sums += one slot of a panel times the same slot of a tile, its first kT tokens.
template <class Encoding, int kT>
inline void multiply_slot(const unsigned char* panel, const unsigned char* tile,
                          TileSums<kTileGroups, kT>& sums) {
  Ints dots[kTileGroups][kT];
  dot_slot<Encoding>(panel, tile, reinterpret_cast<const std::int32_t*>(tile + kTileOffsets), dots);
  const float* weight_scales = reinterpret_cast<const float*>(panel + kPanelScales);
  const float* token_scales = reinterpret_cast<const float*>(tile + kTileScales);
  sums.update([&](int g, int t) {
    const Floats scale = mul(load(weight_scales + g * kLanes), set1(token_scales[t]));
    return fma(to_floats(dots[g][t]), scale, sums.group[g][t]);
  });
  if constexpr (Encoding::Scales::kBiases) {
    const float* biases = reinterpret_cast<const float*>(panel + kPanelBiases);
    const std::int32_t* offsets = reinterpret_cast<const std::int32_t*>(tile + kTileOffsets);
    Floats token_sums[kT];
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) token_sums[t] = scaled_sums(set1(token_scales[t]), set1(offsets[t]));
    sums.update(
        [&](int g, int t) { return fma(load(biases + g * kLanes), token_sums[t], sums.group[g][t]); });
  }
}

// A panel times a tile.
template <class Encoding, int kT>
TileSums<kTileGroups, kT> multiply_tile(const unsigned char* panel, const unsigned char* tile,
                                        std::uint64_t n_blocks) {
  return sum_in_fold_order<kTileGroups, kT>([&](std::uint64_t lane, auto& sums) {
    for (std::uint64_t b = lane; b < n_blocks; b += kLanes) {
      multiply_slot<Encoding, kT>(panel, tile, sums);
      panel += kPanelSlot<Encoding>;
      tile += kTileSlot;
    }
  });
}

// Multiplies a panel with all tokens; store(token, group, sums) takes sixteen rows of one token.
template <class Encoding, class Store>
inline void multiply_panel(const unsigned char* panel, const unsigned char* tiles, std::uint64_t n_blocks,
                           std::uint64_t n_tokens, Store store) {
  for (std::uint64_t token = 0; token < n_tokens; token += kTileTokens) {
    const std::uint64_t left = n_tokens - token;
    const auto multiply = [&]<int kT>() {
      const auto sums =
          multiply_tile<Encoding, kT>(panel, tiles + token / kTileTokens * n_blocks * kTileSlot, n_blocks);
      for (std::uint64_t t = 0; t < kT && t < left; ++t) {
        for (std::uint64_t g = 0; g < kTileGroups; ++g) store(token + t, g, one_nan(sums.group[g][t]));
      }
    };
    if (left <= kTileTokens / 3) {
      multiply.template operator()<kTileTokens / 3>();
    } else if (left <= kTileTokens / 3 * 2) {
      multiply.template operator()<kTileTokens / 3 * 2>();
    } else {
      multiply.template operator()<kTileTokens>();
    }
  }
}

template <class Encoding>
void multiply_panels(const WeightMatrix& w, const unsigned char* tiles, std::uint64_t n_tokens,
                     std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                     unsigned char* panel) {
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  for (std::uint64_t row = row_begin; row < row_end; row += kPanelRows) {
    pack_panel<Encoding>(w, row, row_end, panel);
    multiply_panel<typename Encoding::Panel>(
        panel, tiles, n_blocks, n_tokens, [&](std::uint64_t token, std::uint64_t g, Floats sums) {
          const std::uint64_t group = row + g * kLanes;
          if (group >= row_end) return;
          store_n(out + token * out_stride + group, sums, lanes_left(row_end, group));
        });
  }
}

// Fewer than kPanelTokens tokens come as rows, others as tiles.
template <class Encoding>
void matmul_q8(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t n_tokens, std::uint64_t row_begin,
               std::uint64_t row_end, float* out, std::uint64_t out_stride, unsigned char* scratch) {
  if (n_tokens < kPanelTokens) {
    dot_rows<Encoding>(w, x, n_tokens, row_begin, row_end, out, out_stride, scratch);
  } else {
    multiply_panels<Encoding>(w, x.tiles, n_tokens, row_begin, row_end, out, out_stride, scratch);
  }
}

}  // namespace
}  // namespace ml::kernels
