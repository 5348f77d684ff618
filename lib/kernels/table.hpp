#pragma once

// What a CPU target provides: one table of functions, chosen once. Every table computes the same bits
// (ml-numerics(7)). Kernel files include this header and intrinsics, nothing of the standard library that
// could be instantiated with their instruction set and win at link time.

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
};

/// Activations quantized to Q8_0: token t starts at quants + t * blocks * 32, scales + t * blocks, sums + t *
/// blocks.
struct QuantizedActs {
  const std::int8_t* quants;
  const float* scales;
  const std::int32_t* sums;  ///< sum of each block's quants
  std::uint64_t blocks;      ///< padded_blocks(cols)
};

/// out[t * out_stride + r] = row r of w times token t, for rows [row_begin, row_end).
using MatmulQ8 = void (*)(const WeightMatrix& w, const QuantizedActs& x, std::uint64_t n_tokens,
                          std::uint64_t row_begin, std::uint64_t row_end, float* out,
                          std::uint64_t out_stride);

/// The same with float32 activations: token t starts at x + t * x_stride, x_stride = padded_floats(cols).
using MatmulF32 = void (*)(const WeightMatrix& w, const float* x, std::uint64_t x_stride,
                           std::uint64_t n_tokens, std::uint64_t row_begin, std::uint64_t row_end, float* out,
                           std::uint64_t out_stride);

/// One query head against keys [first, last]; key and value p start at p * head_dim elements.
struct AttentionArgs {
  const float* query;  ///< padded_floats(head_dim), padding zero
  const void* keys;
  const void* values;
  std::uint64_t head_dim;
  std::uint64_t first;
  std::uint64_t last;
  float scale;
  float* out;  ///< head_dim
};

// Index of each table entry; the order of ml::Encoding and ml::KvType (targets.cpp asserts it).
inline constexpr int kF32 = 0, kF16 = 1, kBf16 = 2, kQ8_0 = 3, kQ4_0 = 4, kEncodings = 5;
inline constexpr int kKvF32 = 0, kKvF16 = 1, kKvTypes = 2;

struct Table {
  MatmulQ8 matmul_q8[kEncodings];  ///< null for encodings that are not quantized
  MatmulF32 matmul_f32[kEncodings];

  /// Quantizes n floats (a multiple of 32) by the Q8_0 rule; writes n quants, n / 32 scales and block sums.
  void (*quantize_q8)(const float* x, std::uint64_t n, std::int8_t* quants, float* scales,
                      std::int32_t* sums);
  /// out = x / sqrt(mean(x^2) + eps) * weight
  void (*rms_norm)(const float* x, const float* weight, std::uint64_t n, float eps, float* out);
  /// gate = silu(gate) * up
  void (*silu_mul)(float* gate, const float* up, std::uint64_t n);
  /// out = e^x, less than 1.25 ulp from the true value
  void (*exp)(const float* x, std::uint64_t n, float* out);
  /// Float to IEEE half, nearest even.
  void (*to_f16)(const float* x, std::uint64_t n, std::uint16_t* out);
  void (*attend[kKvTypes])(const AttentionArgs& args);
};

extern const Table scalar_table;
#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avx512_table;
#endif

}  // namespace ml::kernels
