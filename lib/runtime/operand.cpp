#include "runtime/operand.hpp"

#include "runtime/expand.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

// Multiplications that a thread does in the time it takes to wake another one.
constexpr std::uint64_t kWorthAThread = 1u << 16;

kernels::WeightMatrix weight_matrix(const TensorView& view) {
  return {.data = reinterpret_cast<const unsigned char*>(view.data.data()),
          .scales = reinterpret_cast<const unsigned char*>(view.scales.data()),
          .cols = view.cols,
          .row_bytes = view.row_bytes(),
          .row_scale_bytes = view.row_scale_bytes(),
          .f16_scales = view.scale_type == ScaleType::f16};
}

bool takes_q8(const TensorView& view, Activations activations) {
  return activations == Activations::q8 && encoding_info(view.encoding).quantized;
}

}  // namespace

Result<Operand> Operand::create(std::uint64_t max_tokens, std::uint64_t cols) {
  Operand operand;
  operand.cols_ = cols;
  operand.blocks_ = kernels::padded_blocks(cols);
  operand.stride_ = kernels::padded_floats(cols);
  ML_TRY(operand.floats_, AlignedBuffer<float>::allocate(max_tokens * operand.stride_));
  ML_TRY(operand.quants_, AlignedBuffer<std::int8_t>::allocate(max_tokens * operand.blocks_ * kBlock));
  ML_TRY(operand.scales_, AlignedBuffer<float>::allocate(max_tokens * operand.blocks_));
  ML_TRY(operand.sums_, AlignedBuffer<std::int32_t>::allocate(max_tokens * operand.blocks_));
  return operand;
}

void Operand::quantize(const kernels::Table& table, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t token = begin; token < end; ++token) {
    const std::uint64_t first = token * blocks_;
    table.quantize_q8(row(token), cols_, quants_.data() + first * kBlock, scales_.data() + first,
                      sums_.data() + first);
  }
}

kernels::QuantizedActs Operand::quantized() const {
  return {quants_.data(), scales_.data(), sums_.data(), blocks_};
}

void multiply(ThreadPool& pool, const kernels::Table& table, Activations activations, Operand& x,
              std::uint64_t n_tokens, std::span<const Product> products) {
  std::uint64_t n_rows = 0;
  bool any_q8 = false;
  for (const Product& product : products) {
    n_rows += product.weights->rows;
    any_q8 = any_q8 || takes_q8(*product.weights, activations);
  }
  if (any_q8) {
    if (n_tokens * x.cols() < kWorthAThread) {
      x.quantize(table, 0, n_tokens);
    } else {
      pool.run(n_tokens, 8, [&](std::uint64_t begin, std::uint64_t end) { x.quantize(table, begin, end); });
    }
  }

  const auto multiply_matrix = [&](const kernels::WeightMatrix& matrix, Encoding encoding, bool q8,
                                   std::uint64_t row_begin, std::uint64_t row_end, float* out,
                                   std::uint64_t out_stride) {
    const auto index = static_cast<std::size_t>(encoding);
    if (q8) {
      table.matmul_q8[index](matrix, x.quantized(), n_tokens, row_begin, row_end, out, out_stride);
    } else {
      table.matmul_f32[index](matrix, x.row(0), x.stride(), n_tokens, row_begin, row_end, out, out_stride);
    }
  };
  const auto multiply_rows = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t base = 0;
    for (const Product& product : products) {
      const TensorView& view = *product.weights;
      const std::uint64_t from = std::max(begin, base);
      const std::uint64_t to = std::min(end, base + view.rows);
      if (from < to) {
        if (needs_expanding(view.encoding)) {
          for_expanded_rows(view, from - base, to - base,
                            [&](const kernels::WeightMatrix& rows, std::uint64_t n, std::uint64_t first) {
                              multiply_matrix(rows, Encoding::q8_0, takes_q8(view, activations), 0, n,
                                              product.out + first, product.out_stride);
                            });
        } else {
          multiply_matrix(weight_matrix(view), view.encoding, takes_q8(view, activations), from - base,
                          to - base, product.out, product.out_stride);
        }
      }
      base += view.rows;
    }
  };
  if (n_rows * x.cols() * n_tokens < kWorthAThread) return multiply_rows(0, n_rows);
  const std::uint64_t pieces = pool.n_threads() == 1 ? 1 : pool.n_threads() * 8;
  const std::uint64_t grain = std::max<std::uint64_t>(8, (n_rows / pieces + 7) / 8 * 8);
  pool.run(n_rows, pool.n_threads() == 1 ? n_rows : grain, multiply_rows);
}

}  // namespace ml
