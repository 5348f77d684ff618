#pragma once

#include <ml/session.hpp>

#include "kernels/table.hpp"
#include "util/aligned_buffer.hpp"
#include "util/thread_pool.hpp"

#include <span>

namespace ml {

/// Activations of a batch of tokens, ready to be multiplied: float rows, and their Q8 form once it is asked
/// for.
class Operand {
 public:
  /// @error nomem
  static Result<Operand> create(std::uint64_t max_tokens, std::uint64_t cols);

  /// Row of one token, cols floats; the padding after them stays zero.
  float* row(std::uint64_t token) { return floats_.data() + token * stride_; }
  const float* row(std::uint64_t token) const { return floats_.data() + token * stride_; }
  std::uint64_t cols() const { return cols_; }
  std::uint64_t stride() const { return stride_; }
  std::uint64_t n_bytes() const {
    return floats_.n_bytes() + quants_.n_bytes() + scales_.n_bytes() + offsets_.n_bytes() + tiles_.n_bytes();
  }

  /// Quantizes the rows of tokens [begin, end) of a batch.
  ///
  /// @param scratch  kernels::panel_bytes(cols) of memory
  void quantize(const kernels::Table& table, std::uint64_t n_tokens, std::uint64_t begin, std::uint64_t end,
                unsigned char* scratch);
  kernels::QuantizedActs quantized() const;

 private:
  std::uint64_t cols_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t blocks_ = 0;
  AlignedBuffer<float> floats_;
  AlignedBuffer<std::int8_t> quants_;  // these three: rows of a batch too small for tiles
  AlignedBuffer<float> scales_;
  AlignedBuffer<std::int32_t> offsets_;
  AlignedBuffer<unsigned char> tiles_;
};

/// Memory for kernels, one part for each thread.
class ThreadScratch {
 public:
  /// @error nomem
  static Result<ThreadScratch> create(unsigned n_threads, std::uint64_t n_bytes);

  unsigned char* of_thread(unsigned thread) { return bytes_.data() + thread * stride_; }
  std::uint64_t n_bytes() const { return bytes_.n_bytes(); }

 private:
  std::uint64_t stride_ = 0;
  AlignedBuffer<unsigned char> bytes_;
};

/// A matrix as kernels take it.
kernels::WeightMatrix weight_matrix(const TensorView& view);

/// One product: out[token * out_stride + row] for each row of the matrix.
struct Product {
  const TensorView* weights;
  float* out;
  std::uint64_t out_stride;
  Operand* x =
      nullptr;  ///< its own activations, in place of those that the products share; in one product only
};

/// Multiplies matrices with the same activations, tokens [0, n_tokens), in one parallel pass over all rows.
void multiply(ThreadPool& pool, const kernels::Table& table, Activations activations, ThreadScratch& scratch,
              Operand& x, std::uint64_t n_tokens, std::span<const Product> products);

}  // namespace ml
