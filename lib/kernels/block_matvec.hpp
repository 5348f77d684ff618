#pragma once

// Rows of block-quantized weights times a few tokens (ml-numerics(7), rule 2). Include after a lanes header.
//
// Rows lie one after the other, so sixteen of them are one stream of blocks, read once and in order, sixteen
// blocks an iteration whatever the width of a row: their integer dots come into the sixteen lanes of one
// register, where they meet the scales. Where a row ends within a register, its lanes are masked, and the
// next row begins in the lane after: block b of a row is added in lane (b + first) mod 16. The fold adds
// lanes that are 8, then 4, 2, 1 apart, so that its sums are the same wherever a row begins. Tokens are read
// in a circle: after their last block comes their first. An encoding with blocks of 32 and a scale gives
//
//   kBlockBytes                          bytes of a block's quants
//   kArranged                            arrange() is needed
//   arrange(quants, n_blocks, low, high) the activations in the order in which load() gives weights: those of
//                                        block b, or of a group of blocks that begins with it, from byte 16 b
//                                        of each; all of them are in low if it is not kArranged, from 32 b
//   load(load_quads)                     sixteen blocks; load_quads(i) gives 64 bytes from byte i
//   dot(blocks, low, high)               their dots with sixteen blocks of activations
//   correction(offsets)                  what is to be added to the dots
//   Scales                               see block_scales.hpp
//
// and, for panels, what block_panels.hpp says.

#include "kernels/block_scales.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

#include <cstring>

namespace ml::kernels {
namespace {

// All bits of lanes begin .. end - 1, begin < 16.
inline Ints lanes_between(std::uint64_t begin, std::uint64_t end) {
  static constexpr std::int32_t kOnes[3 * kLanes] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                                     0,  0,  0,  0,  0,  -1, -1, -1, -1, -1, -1,
                                                     -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  return bit_and(load(kOnes + kLanes - begin), load(kOnes + 2 * kLanes - (end < kLanes ? end : kLanes)));
}
inline Floats masked(Floats x, Ints mask) { return bits_to_floats(bit_and(floats_to_bits(x), mask)); }

// Sixteen blocks beyond the n in a circle, kBytes of each.
template <std::uint64_t kBytes>
inline void close_circle(void* blocks, std::uint64_t n) {
  unsigned char* p = static_cast<unsigned char*>(blocks);
  for (std::uint64_t i = 0; i < kLanes; ++i) std::memcpy(p + (n + i) * kBytes, p + i * kBytes, kBytes);
}

// A token as the rows meet it; sixteen blocks can be read from each of its n.
struct StreamedToken {
  const std::int8_t* low;
  const std::int8_t* high;
  const float* scales;
  const std::int32_t* corrections;
  const float* sums;  // of the scaled quants of each block, for biases
};

// Token t of x; takes memory from scratch.
template <class Encoding>
inline StreamedToken stream_token(const QuantizedActs& x, std::uint64_t t, std::uint64_t n_blocks,
                                  unsigned char*& scratch) {
  const std::uint64_t capacity = x.blocks + kLanes;
  const auto take = [&](std::uint64_t n_bytes) {
    unsigned char* taken = scratch;
    scratch += n_bytes;
    return taken;
  };
  const bool whole = n_blocks % kLanes == 0;
  const std::int8_t* quants = x.quants + t * x.blocks * kBlockWeights;
  StreamedToken token{quants, nullptr, x.scales + t * x.blocks, x.offsets + t * x.blocks, nullptr};
  if constexpr (Encoding::kArranged) {
    std::int8_t* low = reinterpret_cast<std::int8_t*>(take(capacity * kBlockWeights / 2));
    std::int8_t* high = reinterpret_cast<std::int8_t*>(take(capacity * kBlockWeights / 2));
    Encoding::arrange(quants, x.blocks, low, high);
    if (!whole) {
      close_circle<kBlockWeights / 2>(low, n_blocks);
      close_circle<kBlockWeights / 2>(high, n_blocks);
    }
    token.low = low;
    token.high = high;
  } else if (!whole) {
    std::int8_t* low = reinterpret_cast<std::int8_t*>(take(capacity * kBlockWeights));
    std::memcpy(low, quants, n_blocks * kBlockWeights);
    close_circle<kBlockWeights>(low, n_blocks);
    token.low = low;
  }
  std::int32_t* corrections = reinterpret_cast<std::int32_t*>(take(capacity * sizeof(std::int32_t)));
  float* sums = reinterpret_cast<float*>(take(Encoding::Scales::kBiases ? capacity * sizeof(float) : 0));
  for (std::uint64_t b = 0; b < x.blocks; b += kLanes) {
    if (Encoding::Scales::kBiases)
      store(sums + b, scaled_sums(load(token.scales + b), load(token.corrections + b)));
    const Ints correction = Encoding::correction(load(token.corrections + b));
    std::memcpy(corrections + b, &correction, sizeof correction);
  }
  token.corrections = corrections;
  token.sums = sums;
  if (whole) return token;
  float* scales = reinterpret_cast<float*>(take(capacity * sizeof(float)));
  std::memcpy(scales, token.scales, n_blocks * sizeof(float));
  token.scales = scales;
  close_circle<sizeof(float)>(scales, n_blocks);
  close_circle<sizeof(float)>(corrections, n_blocks);
  if (Encoding::Scales::kBiases) close_circle<sizeof(float)>(sums, n_blocks);
  return token;
}

// The lanes' sums of n_rows <= 16 rows times kN tokens.
template <class Encoding, int kN>
inline void sum_rows(const WeightMatrix& w, std::uint64_t row, std::uint64_t n_rows,
                     const StreamedToken* tokens, Floats (&sums)[kN][kLanes]) {
  using Scales = typename Encoding::Scales;
  const std::uint64_t n_blocks = w.cols / kBlockWeights;
  const std::uint64_t total = n_rows * n_blocks;
  const unsigned char* quants = w.data + row * w.row_bytes;
  const unsigned char* scales = w.scales + row * w.row_scale_bytes;
  const unsigned char* biases = Scales::kBiases ? w.biases + row * w.row_scale_bytes : nullptr;
  Floats acc[kN];
  for (auto& sum : acc) sum = set1(0.0f);
  std::uint64_t r = 0;           // the row that is being added
  std::uint64_t end = n_blocks;  // the block after it
  std::uint64_t in_row = 0;      // of the first block of the iteration

  const auto add_blocks = [&](const auto& blocks, std::uint64_t b) {
    const std::uint64_t n = lanes_left(total, b);
    const Floats weight_scales = Scales::load(w, scales, b, n);
    Floats dots[kN], products[kN], bias, token_sums[kN];
    if constexpr (Scales::kBiases) bias = Scales::load(w, biases, b, n);
    for (int t = 0; t < kN; ++t) {
      const StreamedToken& token = tokens[t];
      const std::int8_t* low = token.low + in_row * (Encoding::kArranged ? kBlockWeights / 2 : kBlockWeights);
      const std::int8_t* high = Encoding::kArranged ? token.high + in_row * (kBlockWeights / 2) : nullptr;
      dots[t] = to_floats(add(Encoding::dot(blocks, low, high), load(token.corrections + in_row)));
      products[t] = mul(weight_scales, load(token.scales + in_row));
      if constexpr (Scales::kBiases) token_sums[t] = load(token.sums + in_row);
    }
    const auto finish_row = [&] {
      for (int t = 0; t < kN; ++t) {
        sums[t][r] = acc[t];
        acc[t] = set1(0.0f);
      }
      ++r;
      end += n_blocks;
    };
    if (end >= b + kLanes) {
      for (int t = 0; t < kN; ++t) {
        acc[t] = fma(dots[t], products[t], acc[t]);
        if constexpr (Scales::kBiases) acc[t] = fma(bias, token_sums[t], acc[t]);
      }
      if (end == b + kLanes) finish_row();
    } else {
      for (std::uint64_t lane = 0; lane < n;) {
        const std::uint64_t stop = end - b;
        const Ints mask = lanes_between(lane, stop);
        for (int t = 0; t < kN; ++t) {
          acc[t] = fma(dots[t], masked(products[t], mask), acc[t]);
          if constexpr (Scales::kBiases)
            acc[t] = fma(masked(bias, mask), masked(token_sums[t], mask), acc[t]);
        }
        if (stop <= n) finish_row();
        lane = stop;
      }
    }
    for (in_row += kLanes; in_row >= n_blocks;) in_row -= n_blocks;
  };
  std::uint64_t b = 0;
  for (; b + kLanes <= total; b += kLanes) {
    const unsigned char* p = quants + b * Encoding::kBlockBytes;
    add_blocks(Encoding::load([&](std::uint64_t i) { return load_quads(p + i); }), b);
  }
  if (b < total) {
    const unsigned char* p = quants + b * Encoding::kBlockBytes;
    const std::uint64_t n_bytes = (total - b) * Encoding::kBlockBytes;
    const auto load_rest = [&](std::uint64_t i) {
      if (i + 64 <= n_bytes) return load_quads(p + i);
      return i < n_bytes ? load_quads_n(p + i, n_bytes - i) : load_quads_n(p, 0);
    };
    add_blocks(Encoding::load(load_rest), b);
  }
}

// Calls multiply.operator()<kN>(first) for tokens [first, first + kN), at most four at a time: what registers
// hold.
template <class Multiply>
inline void for_token_groups(std::uint64_t n_tokens, Multiply multiply) {
  for (std::uint64_t first = 0; first < n_tokens; first += 4) {
    switch (n_tokens - first) {
      case 1: multiply.template operator()<1>(first); break;
      case 2: multiply.template operator()<2>(first); break;
      case 3: multiply.template operator()<3>(first); break;
      default: multiply.template operator()<4>(first);
    }
  }
}

// Sixteen rows are folded at once; all tokens meet them while they are in the cache.
template <class Encoding>
inline void dot_rows(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t n_tokens,
                     std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                     unsigned char* scratch) {
  // Of a token's blocks and sixteen more: quants, scales, corrections, sums.
  static_assert(kPanelTokens * 2 * (kBlockWeights + 12) <= panel_bytes(kBlockWeights) / kLanes);
  StreamedToken tokens[kPanelTokens];
  for (std::uint64_t t = 0; t < n_tokens; ++t) {
    tokens[t] = stream_token<Encoding>(x, t, w.cols / kBlockWeights, scratch);
  }
  for (std::uint64_t row = row_begin; row < row_end; row += kLanes) {
    const std::uint64_t n_rows = lanes_left(row_end, row);
    for_token_groups(n_tokens, [&]<int kN>(std::uint64_t first) {
      Floats sums[kN][kLanes];
      for (std::uint64_t r = n_rows; r < kLanes; ++r) {
        for (auto& token : sums) token[r] = set1(0.0f);
      }
      sum_rows<Encoding, kN>(w, row, n_rows, tokens + first, sums);
      for (int t = 0; t < kN; ++t)
        store_n(out + (first + t) * out_stride + row, one_nan(fold_rows(sums[t])), n_rows);
    });
  }
}

}  // namespace
}  // namespace ml::kernels
