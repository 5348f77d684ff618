#include "latent/dense.hpp"

#include <algorithm>

namespace ml {

namespace {

// Parts that a sum is made of: parts p, p + 4, ... add up to one, so that four run side by side.
constexpr std::uint64_t kParts = 4;

template <int kRows>
void dot_rows(const double* const* a, const double* b, std::uint64_t n, double* out) {
  double sums[kRows][kParts] = {};
  std::uint64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int r = 0; r < kRows; ++r) {
      for (std::uint64_t p = 0; p < kParts; ++p) sums[r][p] += a[r][i + p] * b[i + p];
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < kRows; ++r) sums[r][i % kParts] += a[r][i] * b[i];
  }
  for (int r = 0; r < kRows; ++r) out[r] = (sums[r][0] + sums[r][2]) + (sums[r][1] + sums[r][3]);
}

}  // namespace

double dot(const double* a, const double* b, std::uint64_t n) {
  double sum;
  dot_rows<1>(&a, b, n, &sum);
  return sum;
}

Dense multiply_transposed(ThreadPool& pool, const Dense& a, const Dense& b) {
  constexpr int kTogether = 4;         // rows of a that meet a row of b while it is in registers
  constexpr std::uint64_t kTile = 32;  // rows of b that stay in the cache
  Dense product(a.rows, b.rows);
  pool.run(a.rows, 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t tile = 0; tile < b.rows; tile += kTile) {
      const std::uint64_t tile_end = std::min(b.rows, tile + kTile);
      for (std::uint64_t r = begin; r < end;) {
        const bool four = r + kTogether <= end;
        const double* rows[kTogether];
        for (int k = 0; k < kTogether; ++k) rows[k] = a.row(four ? r + static_cast<std::uint64_t>(k) : r);
        for (std::uint64_t c = tile; c < tile_end; ++c) {
          double sums[kTogether];
          four ? dot_rows<kTogether>(rows, b.row(c), a.cols, sums)
               : dot_rows<1>(rows, b.row(c), a.cols, sums);
          for (int k = 0; k < (four ? kTogether : 1); ++k)
            product.at(r + static_cast<std::uint64_t>(k), c) = sums[k];
        }
        r += four ? kTogether : 1;
      }
    }
  });
  return product;
}

Dense transposed(const Dense& a) {
  Dense result(a.cols, a.rows);
  constexpr std::uint64_t kTile = 32;
  for (std::uint64_t r0 = 0; r0 < a.rows; r0 += kTile) {
    for (std::uint64_t c0 = 0; c0 < a.cols; c0 += kTile) {
      for (std::uint64_t r = r0; r < std::min(a.rows, r0 + kTile); ++r) {
        for (std::uint64_t c = c0; c < std::min(a.cols, c0 + kTile); ++c) result.at(c, r) = a.at(r, c);
      }
    }
  }
  return result;
}

double trace(const Dense& a) {
  double sum = 0;
  for (std::uint64_t i = 0; i < a.rows; ++i) sum += a.at(i, i);
  return sum;
}

}  // namespace ml
