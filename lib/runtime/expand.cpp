#include "runtime/expand.hpp"

#include "encodings/int_group.hpp"
#include "encodings/scales.hpp"

#include <vector>

namespace ml {

namespace {

// At most 8 rows of 65536 columns a thread.
struct Expanded {
  std::vector<std::int8_t> quants;
  std::vector<float> scales;
  std::vector<float> weights;
};
thread_local Expanded expanded;

kernels::WeightMatrix expand_to_floats(const TensorView& view, std::uint64_t row, std::uint64_t n_rows) {
  if (expanded.weights.size() < n_rows * view.cols) expanded.weights.resize(kExpandedRows * view.cols);
  for (std::uint64_t i = 0; i < n_rows; ++i) {
    const auto out = std::span(expanded.weights).subspan(i * view.cols, view.cols);
    view.encoding == Encoding::q8g64 ? decode_row(view, row + i, out)
                                     : decode_row_unrounded(view, row + i, out);
  }
  return {.data = reinterpret_cast<const unsigned char*>(expanded.weights.data()),
          .scales = nullptr,
          .cols = view.cols,
          .row_bytes = view.cols * sizeof(float),
          .row_scale_bytes = 0,
          .f16_scales = false};
}

}  // namespace

Encoding kernel_encoding(Encoding encoding) {
  if (static_cast<int>(encoding) < kernels::kEncodings) return encoding;
  return int_group(encoding) ? Encoding::q8_0 : Encoding::f32;
}

kernels::WeightMatrix expand_rows(const TensorView& view, std::uint64_t row, std::uint64_t n_rows) {
  if (!int_group(view.encoding)) return expand_to_floats(view, row, n_rows);
  const std::uint64_t n_blocks = view.cols / kBlock;
  const std::uint64_t group_blocks = int_group(view.encoding)->group / kBlock;
  if (expanded.quants.size() < n_rows * view.cols) {
    expanded.quants.resize(kExpandedRows * view.cols);
    expanded.scales.resize(kExpandedRows * n_blocks);
  }
  load_quants(view, row, n_rows, expanded.quants.data());
  float* d = expanded.scales.data();
  for (std::uint64_t i = 0; i < n_rows; ++i) {
    for (std::uint64_t g = 0; g < n_blocks / group_blocks; ++g) {
      const float scale = load_scale(view, scale_index(view, row + i, g));
      for (std::uint64_t b = 0; b < group_blocks; ++b) *d++ = scale;
    }
  }
  return {.data = reinterpret_cast<const unsigned char*>(expanded.quants.data()),
          .scales = reinterpret_cast<const unsigned char*>(expanded.scales.data()),
          .cols = view.cols,
          .row_bytes = view.cols,
          .row_scale_bytes = n_blocks * sizeof(float),
          .f16_scales = false};
}

}  // namespace ml
