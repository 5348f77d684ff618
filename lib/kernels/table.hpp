#pragma once

// What a CPU target provides: one table of functions, chosen once. Every table computes the same bits
// (ml-numerics(7)). Kernel files include this header and intrinsics, nothing of the standard library that
// could be instantiated with their instruction set and win at link time.

#include "kernels/seed_search.hpp"

#include <cstdint>

namespace ml::kernels {

inline constexpr std::uint64_t kLanes = 16;         ///< float lanes of every sum
inline constexpr std::uint64_t kBlockWeights = 32;  ///< weights of a quantized block
inline constexpr std::uint64_t kKeyBlock = 64;  ///< keys of an attention block, aligned to absolute positions

/// Rounds activation rows up: floats to whole vectors, Q8 rows to 16 blocks. The padding is zero.
inline constexpr std::uint64_t padded_floats(std::uint64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
inline constexpr std::uint64_t padded_blocks(std::uint64_t n) {
  return (n / kBlockWeights + kLanes - 1) / kLanes * kLanes;
}

/// A weight matrix as it lies in memory (ml::TensorView), unaligned.
struct WeightMatrix {
  const unsigned char* data;
  const unsigned char* scales;
  std::uint64_t cols;
  std::uint64_t row_bytes;
  std::uint64_t row_scale_bytes;
  bool f16_scales;
  const unsigned char* biases = nullptr;  ///< affine: BF16 as the scales; seeds: I32, one a slice
  const unsigned char* seeds = nullptr;
  std::uint64_t slice_rows = 0;    ///< rows that share an exponent bias; 0: all
  std::uint64_t group_blocks = 1;  ///< blocks of 32 that share a scale: 1, 2 or 4
};

/// A batch of fewer tokens than this is multiplied as rows, a larger one as tiles.
inline constexpr std::uint64_t kPanelTokens = 8;

/// Activations quantized to Q8_0. As rows: token t starts at quants + t * blocks * 32, scales + t * blocks,
/// offsets + t * blocks. As tiles: what Table::pack_token made of the rows.
struct QuantizedActs {
  const std::int8_t* quants;
  const float* scales;
  const std::int32_t*
      offsets;           ///< -128 times the sum of each block's quants: what weights + 128 add too much
  std::uint64_t blocks;  ///< padded_blocks(cols)
  const unsigned char* tiles;
};

/// Rows that a panel has at most; pieces of work are best multiples of it.
inline constexpr std::uint64_t kMaxPanelRows = 32;

/// Bytes of scratch for a product: a panel of quants, float scales and biases, or some rows of floats.
inline constexpr std::uint64_t panel_bytes(std::uint64_t cols) {
  return padded_blocks(cols) * kMaxPanelRows * (kBlockWeights + 2 * sizeof(float));
}

/// Tokens that a tile has at most (others have a part of that), and the bytes of one of its blocks.
inline constexpr std::uint64_t kMaxTileTokens = 6, kMaxTileSlot = 256;

/// Bytes of the tiles of a batch.
inline constexpr std::uint64_t tiles_bytes(std::uint64_t n_tokens, std::uint64_t cols) {
  return (n_tokens + kMaxTileTokens - 1) / kMaxTileTokens * (cols / kBlockWeights) * kMaxTileSlot;
}

/// out[t * out_stride + r] = row r of w times token t, for rows [row_begin, row_end). panel_bytes(w.cols) of
/// scratch, aligned to 64 bytes.
using MatmulQ8 = void (*)(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t n_tokens,
                          std::uint64_t row_begin, std::uint64_t row_end, float* out,
                          std::uint64_t out_stride, unsigned char* scratch);

/// The same with float32 activations: token t starts at x + t * x_stride, x_stride = padded_floats(cols).
using MatmulF32 = void (*)(const WeightMatrix& w, const float* x, std::uint64_t x_stride,
                           std::uint64_t n_tokens, std::uint64_t row_begin, std::uint64_t row_end, float* out,
                           std::uint64_t out_stride, unsigned char* scratch);

/// One query head and the positions that it sees, first .. last.
struct AttentionQuery {
  const float* query;  ///< padded_floats(head_dim), padding zero
  float* out;          ///< value_dim
  std::uint64_t first;
  std::uint64_t last;
};

/// Queries that one call takes at most.
inline constexpr std::uint64_t kMaxQueries = 256;

/// Queries that share a head of keys and values. The cache is a ring of `capacity` positions, a multiple of
/// kKeyBlock: position p lies in row p mod capacity, a row has head_dim elements (and, in a Q8 cache, scales;
/// see q8_row_bytes). Values are the first value_dim elements of their rows; those of latent attention are
/// the keys' own rows.
struct AttentionArgs {
  const AttentionQuery* queries;
  std::uint64_t n_queries;
  const void* keys;
  const void* values;
  std::uint64_t capacity;
  std::uint64_t head_dim;
  std::uint64_t value_dim;  ///< of the output, at most head_dim
  float scale;
  float softcap;   ///< 0: none
  float* scratch;  ///< attention_floats(head_dim), aligned to 64 bytes
};

/// A block of keys, one of values, and some rows on their way.
inline constexpr std::uint64_t attention_floats(std::uint64_t head_dim) {
  return (2 * kKeyBlock + kLanes) * padded_floats(head_dim);
}

/// A row of a Q8 cache: head_dim quants rounded up to whole blocks, then a float32 scale for each block.
inline constexpr std::uint64_t q8_row_blocks(std::uint64_t head_dim) {
  return (head_dim + kBlockWeights - 1) / kBlockWeights;
}
inline constexpr std::uint64_t q8_row_bytes(std::uint64_t head_dim) {
  return q8_row_blocks(head_dim) * (kBlockWeights + 4);
}

/// A row of an fp8 or fp4 cache (latent_cache_kernels.hpp): where its parts begin.
inline constexpr std::uint64_t kFp8Block = 32, kFp4Block = 16, kRopeDim = 128, kFp4Lead = 256;
inline constexpr unsigned char kFp8NotFinite = 0xff, kFp4NotFinite = 0x7f;  ///< scales of such blocks
struct LatentRow {
  std::uint64_t rank;     ///< elements before those of the rotated key
  std::uint64_t lead;     ///< of them in fp8; the first codes of the row
  std::uint64_t scales;   ///< of the leading ones
  std::uint64_t scales4;  ///< of the fp4 ones
  std::uint64_t key;      ///< 128 codes, then 4 scales
};
inline constexpr LatentRow latent_row(std::uint64_t head_dim, bool fp4) {
  const std::uint64_t rank = head_dim - kRopeDim;
  const std::uint64_t lead = fp4 && rank > kFp4Lead ? kFp4Lead : rank;
  const std::uint64_t scales = lead + (rank - lead) / 2;
  const std::uint64_t scales4 = scales + lead / kFp8Block;
  return {rank, lead, scales, scales4, scales4 + (rank - lead) / kFp4Block};
}
inline constexpr std::uint64_t latent_row_bytes(std::uint64_t head_dim, bool fp4) {
  return latent_row(head_dim, fp4).key + kRopeDim + kRopeDim / kFp8Block;
}

/// One position of one value head: state (k_dim x v_dim) becomes state * decay + key (beta (value - state^T
/// key))^T, out = state^T query.
struct DeltaArgs {
  float* state;
  const float* query;
  const float* key;
  const float* value;
  std::uint64_t k_dim;
  std::uint64_t v_dim;
  float decay;
  float beta;
  float* out;
};

// Index of each table entry; the order of ml::Encoding and ml::KvType (targets.cpp asserts it).
inline constexpr int kF32 = 0, kF16 = 1, kBf16 = 2, kQ8_0 = 3, kQ4_0 = 4, kEncodings = 24;
inline constexpr int kKvF32 = 0, kKvF16 = 1, kKvQ8 = 2, kKvBf16 = 3, kKvFp8 = 4, kKvFp4 = 5, kKvTypes = 6;

struct Table {
  MatmulQ8 matmul_q8[kEncodings];  ///< null for encodings that take float activations alone
  MatmulF32 matmul_f32[kEncodings];

  /// Quantizes n floats (a multiple of 32) by the Q8_0 rule; writes n quants, n / 32 scales and offsets.
  void (*quantize_q8)(const float* x, std::uint64_t n, std::int8_t* quants, float* scales,
                      std::int32_t* offsets);
  /// Puts one token, given as a row, into its tile.
  void (*pack_token)(const QuantizedActs& row, std::uint64_t cols, std::uint64_t token, unsigned char* tiles);
  /// out = x / sqrt(mean(x^2) + eps) * weight
  void (*rms_norm)(const float* x, const float* weight, std::uint64_t n, float eps, float* out);
  /// x = x * factor / sqrt(sum(x^2) + eps)
  void (*l2_norm)(float* x, std::uint64_t n, float eps, float factor);
  /// gate = silu(gate) * up
  void (*silu_mul)(float* gate, const float* up, std::uint64_t n);
  /// gate = gelu(gate) * up, with the tanh approximation
  void (*gelu_mul)(float* gate, const float* up, std::uint64_t n);
  /// x = x * sigmoid(gate)
  void (*sigmoid_mul)(float* x, const float* gate, std::uint64_t n);
  /// x = x * log2(1 + 2^gate), less than 2.5 ulp from the true factor
  void (*softplus_mul)(float* x, const float* gate, std::uint64_t n);
  /// x = cap * tanh(x / cap)
  void (*softcap)(float* x, std::uint64_t n, float cap);
  /// out = e^x, less than 1.25 ulp from the true value
  void (*exp)(const float* x, std::uint64_t n, float* out);
  /// Float to IEEE half, nearest even.
  void (*to_f16)(const float* x, std::uint64_t n, std::uint16_t* out);
  void (*attend[kKvTypes])(const AttentionArgs& args);  ///< fp8, fp4: of latent rows
  /// out[c] = silu(sum over taps of weights[tap * n + c] * inputs[tap][c])
  void (*conv_silu)(const float* const* inputs, const float* weights, std::uint64_t taps, std::uint64_t n,
                    float* out);
  /// One position, columns [begin, end) of the state.
  void (*delta_step)(const DeltaArgs& args, std::uint64_t begin, std::uint64_t end);
  /// Seeds with 3 and with 4 coefficients.
  SeedTry try_seeds[2];
  SeedScan scan_seeds[2];
};

extern const Table scalar_table;
#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avxvnni_table;
extern const Table avx512_table;
#elif defined(__aarch64__)
extern const Table neon_table;
extern const Table dotprod_table;
extern const Table i8mm_table;
#endif

}  // namespace ml::kernels
