#pragma once

#include "util/checked.hpp"
#include "util/thread_pool.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ml {

/// A matrix of doubles, row by row.
struct Dense {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<double> values = {};

  Dense() = default;
  Dense(std::uint64_t n_rows, std::uint64_t n_cols)
      : rows(n_rows), cols(n_cols), values(vector_size<double>(Checked(n_rows) * n_cols), 0.0) {}
  double* row(std::uint64_t r) { return values.data() + r * cols; }
  const double* row(std::uint64_t r) const { return values.data() + r * cols; }
  double& at(std::uint64_t r, std::uint64_t c) { return values[r * cols + c]; }
  double at(std::uint64_t r, std::uint64_t c) const { return values[r * cols + c]; }
};

/// a b^T; every element is one sum in order, whatever the number of threads.
Dense multiply_transposed(ThreadPool& pool, const Dense& a, const Dense& b);

Dense transposed(const Dense& a);

/// The sum of n products, in four interleaved parts.
double dot(const double* a, const double* b, std::uint64_t n);

/// The sum of the diagonal.
double trace(const Dense& a);

}  // namespace ml
