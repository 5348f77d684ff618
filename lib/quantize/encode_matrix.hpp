#pragma once

// A whole matrix, or a stack of them, into one of the encodings of nanoseedlm(5).

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include "kernels/table.hpp"
#include "util/thread_pool.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ml {

/// BF16 weights, rows of all slices one after the other; need not be aligned.
struct MatrixSource {
  std::uint64_t slices = 1;
  std::uint64_t rows = 0;  ///< of a slice
  std::uint64_t cols = 0;
  std::span<const std::byte> bf16 = {};
  /// Mean square of each input column, for seeds: cols, or slices * cols; empty: none.
  std::span<const float> importance = {};
};

/// The spans of a TensorView, in memory of their own.
struct EncodedMatrix {
  std::vector<std::byte> data = {};
  std::vector<std::byte> scales = {};
  std::vector<std::byte> biases = {};
  std::vector<std::byte> seeds = {};
};

struct MatrixEncoder {
  ThreadPool& pool;
  const kernels::Table& kernels;
  /// Called from any thread with numbers of weights that are done.
  std::function<void(std::uint64_t)> advance = {};
};

/// @param encoding  bf16, affine or seed4p4, seed4; the columns fill whole blocks
/// @error format    NaN or infinity; names row and column
/// @error limit     values beyond what the encoding can hold; names the row
Result<EncodedMatrix> encode_matrix(Encoding encoding, const MatrixSource& source,
                                    const MatrixEncoder& encoder);

}  // namespace ml
