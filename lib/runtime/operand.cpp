#include "runtime/operand.hpp"

#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

// Multiplications that a thread does in the time it takes to wake another one.
constexpr std::uint64_t kWorthAThread = 1u << 16;

bool takes_q8(const TensorView& view, Activations activations) {
  return activations == Activations::q8 && encoding_info(view.encoding).takes_q8();
}

}  // namespace

kernels::WeightMatrix weight_matrix(const TensorView& view) {
  return {.data = reinterpret_cast<const unsigned char*>(view.data.data()),
          .scales = reinterpret_cast<const unsigned char*>(view.scales.data()),
          .cols = view.cols,
          .row_bytes = view.row_bytes(),
          .row_scale_bytes = view.row_scale_bytes(),
          .f16_scales = view.scale_type == ScaleType::f16,
          .biases = reinterpret_cast<const unsigned char*>(view.biases.data()),
          .seeds = reinterpret_cast<const unsigned char*>(view.seeds.data()),
          .slice_rows = view.slice_rows,
          .group_blocks = encoding_info(view.encoding).block_weights / kBlock};
}

Result<Operand> Operand::create(std::uint64_t max_tokens, std::uint64_t cols) {
  Operand operand;
  operand.cols_ = cols;
  operand.blocks_ = kernels::padded_blocks(cols);
  operand.stride_ = kernels::padded_floats(cols);
  ML_TRY(operand.floats_, AlignedBuffer<float>::allocate(max_tokens * operand.stride_));
  const std::uint64_t rows = std::min(max_tokens, kernels::kPanelTokens - 1);
  ML_TRY(operand.quants_, AlignedBuffer<std::int8_t>::allocate(rows * operand.blocks_ * kBlock));
  ML_TRY(operand.scales_, AlignedBuffer<float>::allocate(rows * operand.blocks_));
  ML_TRY(operand.offsets_, AlignedBuffer<std::int32_t>::allocate(rows * operand.blocks_));
  ML_TRY(operand.tiles_, AlignedBuffer<unsigned char>::allocate(kernels::tiles_bytes(max_tokens, cols)));
  return operand;
}

void Operand::quantize(const kernels::Table& table, std::uint64_t n_tokens, std::uint64_t begin,
                       std::uint64_t end, unsigned char* scratch) {
  const bool as_tiles = n_tokens >= kernels::kPanelTokens;
  for (std::uint64_t token = begin; token < end; ++token) {
    const std::uint64_t first = as_tiles ? 0 : token * blocks_;
    std::int8_t* quants = quants_.data() + first * kBlock;
    float* scales = scales_.data() + first;
    std::int32_t* offsets = offsets_.data() + first;
    if (as_tiles) {  // by way of the thread's own memory
      quants = reinterpret_cast<std::int8_t*>(scratch);
      scales = reinterpret_cast<float*>(scratch + blocks_ * kBlock);
      offsets = reinterpret_cast<std::int32_t*>(scales + blocks_);
    }
    table.quantize_q8(row(token), cols_, quants, scales, offsets);
    if (as_tiles) {
      table.pack_token(
          {.quants = quants, .scales = scales, .offsets = offsets, .blocks = blocks_, .tiles = nullptr},
          cols_, token, tiles_.data());
    }
  }
}

kernels::QuantizedActs Operand::quantized() const {
  return {quants_.data(), scales_.data(), offsets_.data(), blocks_, tiles_.data()};
}

Result<ThreadScratch> ThreadScratch::create(unsigned n_threads, std::uint64_t n_bytes) {
  ThreadScratch scratch;
  constexpr std::uint64_t kPage = 4096;
  scratch.stride_ = (n_bytes + kPage - 1) / kPage * kPage;
  ML_TRY(scratch.bytes_, AlignedBuffer<unsigned char>::allocate(n_threads * scratch.stride_));
  return scratch;
}

void multiply(ThreadPool& pool, const kernels::Table& table, Activations activations, ThreadScratch& scratch,
              Operand& x, std::uint64_t n_tokens, std::span<const Product> products) {
  const auto quantize = [&](Operand& operand) {
    if (n_tokens * operand.cols() < kWorthAThread)
      return operand.quantize(table, n_tokens, 0, n_tokens, scratch.of_thread(0));
    pool.run_threads(n_tokens, 8, [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
      operand.quantize(table, n_tokens, begin, end, scratch.of_thread(thread));
    });
  };
  std::uint64_t n_rows = 0;
  std::uint64_t n_weights = 0;
  bool any_q8 = false;
  for (const Product& product : products) {
    n_rows += product.weights->rows;
    n_weights += product.weights->n_weights();
    if (!takes_q8(*product.weights, activations)) continue;
    if (product.x != nullptr) {
      quantize(*product.x);
    } else {
      any_q8 = true;
    }
  }
  if (any_q8) quantize(x);

  const auto multiply_rows = [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t base = 0;
    for (const Product& product : products) {
      const TensorView& view = *product.weights;
      const std::uint64_t from = std::max(begin, base);
      const std::uint64_t to = std::min(end, base + view.rows);
      const Operand& operand = product.x != nullptr ? *product.x : x;
      if (from < to) {
        const auto kernel = static_cast<std::size_t>(view.encoding);
        const kernels::WeightMatrix matrix = weight_matrix(view);
        if (takes_q8(view, activations)) {
          table.matmul_q8[kernel](matrix, operand.quantized(), n_tokens, from - base, to - base, product.out,
                                  product.out_stride, scratch.of_thread(thread));
        } else {
          table.matmul_f32[kernel](matrix, operand.row(0), operand.stride(), n_tokens, from - base, to - base,
                                   product.out, product.out_stride, scratch.of_thread(thread));
        }
      }
      base += view.rows;
    }
  };
  if (n_weights * n_tokens < kWorthAThread) return multiply_rows(0, 0, n_rows);
  constexpr std::uint64_t kRows = kernels::kMaxPanelRows;
  const std::uint64_t pieces = pool.n_threads() == 1 ? 1 : pool.n_threads() * 8;
  const std::uint64_t grain = std::max(kRows, n_rows / pieces / kRows * kRows);
  pool.run_threads(n_rows, pool.n_threads() == 1 ? n_rows : grain, multiply_rows);
}

}  // namespace ml
