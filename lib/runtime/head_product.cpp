#include "runtime/head_product.hpp"

#include <algorithm>

namespace ml {

void multiply_heads(Workspace& workspace, const HeadProduct& product, std::uint64_t n_tokens) {
  const TensorView& view = *product.maps;
  const auto multiply = workspace.table.matmul_f32[static_cast<std::size_t>(view.encoding)];
  const std::uint64_t head_rows = view.rows / product.n_heads;
  // Rows [begin, end) of one head.
  const auto multiply_head = [&](unsigned thread, std::uint64_t head, std::uint64_t begin,
                                 std::uint64_t end) {
    multiply(weight_matrix(view.rows_at(head * head_rows, head_rows)), product.x + head * product.x_head,
             product.x_stride, n_tokens, begin, end, product.out + head * product.out_head,
             product.out_stride, workspace.scratch.of_thread(thread));
  };
  const auto multiply_rows = [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t head = begin / head_rows;
      const std::uint64_t last = std::min(end, (head + 1) * head_rows);
      multiply_head(thread, head, begin - head * head_rows, last - head * head_rows);
      begin = last;
    }
  };
  constexpr std::uint64_t kWorthAThread = 1u << 16;
  if (view.n_weights() * n_tokens < kWorthAThread) return multiply_rows(0, 0, view.rows);
  constexpr std::uint64_t kGrain = 32;
  workspace.pool.run_threads(view.rows, kGrain, multiply_rows);
}

}  // namespace ml
