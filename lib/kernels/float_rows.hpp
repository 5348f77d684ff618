#pragma once

// Rows whose weights are made into floats group by group, times float activations (ml-numerics(7), rule 3).
// Include after a lanes header. Row(w, r).each(cols, use) calls use(i, weights i .. i + 15) for i = 0, 16,
// ...; past the end of a row the weights are zero.
//
// Up to kRowTokens tokens meet the weights in registers. For more, kRowsAtOnce rows lie as floats in scratch
// while all tokens pass: making them is then paid once.

#include "kernels/float_matmul.hpp"
#include "kernels/stored.hpp"

namespace ml::kernels {
namespace {

inline constexpr std::uint64_t kRowTokens = 4;
inline constexpr std::uint64_t kRowsAtOnce = 8;

template <class Row, int kT>
inline void dot_made_row(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row,
                         float* out, std::uint64_t out_stride) {
  Floats sums[kT];
  for (auto& sum : sums) sum = set1(0.0f);
  Row(w, row).each(w.cols, [&](std::uint64_t i, Floats weights) {
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) sums[t] = fma(weights, load(x + t * x_stride + i), sums[t]);
  });
  for (int t = 0; t < kT; ++t) out[static_cast<std::uint64_t>(t) * out_stride + row] = fold_add(sums[t]);
}

template <class Row, int kT>
void dot_made_rows(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t row_begin,
                   std::uint64_t row_end, float* out, std::uint64_t out_stride) {
  for (std::uint64_t row = row_begin; row < row_end; ++row) {
    dot_made_row<Row, kT>(w, x, x_stride, row, out, out_stride);
  }
}

template <class Row>
void matmul_made(const WeightMatrix& w, const float* x, std::uint64_t x_stride, std::uint64_t n_tokens,
                 std::uint64_t row_begin, std::uint64_t row_end, float* out, std::uint64_t out_stride,
                 unsigned char* scratch) {
  static_assert(kRowTokens == 4 && kRowsAtOnce * sizeof(float) <= kMaxPanelRows);
  if (n_tokens <= kRowTokens) {
    std::uint64_t t = 0;
    const auto multiply = [&]<int kT>() {
      dot_made_rows<Row, kT>(w, x + t * x_stride, x_stride, row_begin, row_end, out + t * out_stride,
                             out_stride);
      t += kT;
    };
    if (n_tokens == 4) return multiply.template operator()<4>();
    if (n_tokens >= 2) multiply.template operator()<2>();
    if (t < n_tokens) multiply.template operator()<1>();
    return;
  }
  const std::uint64_t stride = padded_floats(w.cols);
  for (std::uint64_t row = row_begin; row < row_end; row += kRowsAtOnce) {
    const std::uint64_t n_rows = row_end - row < kRowsAtOnce ? row_end - row : kRowsAtOnce;
    float* floats = reinterpret_cast<float*>(scratch);
    for (std::uint64_t r = 0; r < n_rows; ++r) {
      Row(w, row + r).each(w.cols, [&](std::uint64_t i, Floats weights) {
        store(floats + r * stride + i, weights);
        to_stored(floats + r * stride + i, kLanes);
      });
    }
    const WeightMatrix made{.data = scratch,
                            .scales = nullptr,
                            .cols = w.cols,
                            .row_bytes = stride * sizeof(float),
                            .row_scale_bytes = 0,
                            .f16_scales = false};
    matmul_f32<PlainF32>(made, x, x_stride, n_tokens, 0, n_rows, out + row, out_stride, nullptr);
  }
}

}  // namespace
}  // namespace ml::kernels
