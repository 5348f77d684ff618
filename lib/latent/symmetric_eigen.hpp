#pragma once

#include "latent/dense.hpp"

#include <functional>

namespace ml {

/// Eigenvalues, largest first, and unit eigenvectors, one a row. The largest component of each is above 0, so
/// that the result is one and the same wherever eigenvalues differ.
struct Eigen {
  std::vector<double> values;
  Dense vectors;
};

/// Eigenvectors of a symmetric matrix: Householder's reduction to a tridiagonal one, then implicit QL steps
/// with Wilkinson's shift. The same bits for any number of threads.
///
/// @param a         of finite elements; only its lower half is read
/// @param progress  called now and then with the share done, 0 to 1
/// @cost            about 9 n^3 operations, twice the memory of a
Eigen symmetric_eigen(ThreadPool& pool, Dense a, const std::function<void(double)>& progress = {});

}  // namespace ml
