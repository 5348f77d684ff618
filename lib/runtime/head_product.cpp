#include "runtime/head_product.hpp"

#include "runtime/expand.hpp"

#include <algorithm>

namespace ml {

namespace {

kernels::WeightMatrix plain_matrix(const TensorView& view) {
  return {.data = reinterpret_cast<const unsigned char*>(view.data.data()),
          .scales = reinterpret_cast<const unsigned char*>(view.scales.data()),
          .cols = view.cols,
          .row_bytes = view.row_bytes(),
          .row_scale_bytes = view.row_scale_bytes(),
          .f16_scales = view.scale_type == ScaleType::f16};
}

}  // namespace

void multiply_heads(Workspace& workspace, const HeadProduct& product, std::uint64_t n_tokens) {
  const TensorView& view = *product.maps;
  const Encoding kernel = kernel_encoding(view.encoding);
  const auto multiply = workspace.table.matmul_f32[static_cast<std::size_t>(kernel)];
  const std::uint64_t head_rows = view.rows / product.n_heads;
  // Rows [begin, end) of one head.
  const auto multiply_head = [&](std::uint64_t head, std::uint64_t begin, std::uint64_t end) {
    const float* x = product.x + head * product.x_head;
    float* out = product.out + head * product.out_head;
    const auto of_rows = [&](const kernels::WeightMatrix& matrix, std::uint64_t first, std::uint64_t last,
                             float* to) {
      multiply(matrix, x, product.x_stride, n_tokens, first, last, to, product.out_stride);
    };
    const std::uint64_t base = head * head_rows;
    if (kernel == view.encoding) {
      return of_rows(plain_matrix(view.rows_at(base + begin, end - begin)), 0, end - begin, out + begin);
    }
    for_expanded_rows(view, base + begin, base + end,
                      [&](const kernels::WeightMatrix& rows, std::uint64_t n, std::uint64_t first) {
                        of_rows(rows, 0, n, out + (first - base));
                      });
  };
  const auto multiply_rows = [&](std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t head = begin / head_rows;
      const std::uint64_t last = std::min(end, (head + 1) * head_rows);
      multiply_head(head, begin - head * head_rows, last - head * head_rows);
      begin = last;
    }
  };
  constexpr std::uint64_t kWorthAThread = 1u << 16;
  if (view.n_weights() * n_tokens < kWorthAThread) return multiply_rows(0, view.rows);
  constexpr std::uint64_t kGrain = 32;
  workspace.pool.run(view.rows, kGrain, multiply_rows);
}

}  // namespace ml
