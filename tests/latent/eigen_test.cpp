#include "catch.hpp"
#include "latent/symmetric_eigen.hpp"

#include <cmath>
#include <random>

using namespace ml;

namespace {

Dense random_matrix(std::uint64_t rows, std::uint64_t cols, unsigned seed) {
  std::mt19937 random(seed);
  Dense matrix(rows, cols);
  for (double& value : matrix.values) value = static_cast<double>(random()) / 0x1p31 - 1;
  return matrix;
}

// A v = value v, and unit vectors at right angles, within `tolerance` of the matrix' size.
void check_eigen(ThreadPool& pool, const Dense& a, double tolerance) {
  const Eigen eigen = symmetric_eigen(pool, a);
  REQUIRE(eigen.values.size() == a.rows);
  const double size = std::max(std::fabs(eigen.values.front()), std::fabs(eigen.values.back()));
  const Dense images = multiply_transposed(pool, eigen.vectors, a);
  const Dense angles = multiply_transposed(pool, eigen.vectors, eigen.vectors);
  double worst = 0;
  double skew = 0;
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    for (std::uint64_t j = 0; j < a.rows; ++j) {
      worst = std::max(worst, std::fabs(images.at(i, j) - eigen.values[i] * eigen.vectors.at(i, j)));
      skew = std::max(skew, std::fabs(angles.at(i, j) - (i == j ? 1 : 0)));
    }
    if (i > 0) CHECK(eigen.values[i - 1] >= eigen.values[i]);
  }
  CHECK(worst <= tolerance * size);
  CHECK(skew <= tolerance);
}

}  // namespace

TEST_CASE("eigenvectors of symmetric matrices of any size and rank", "[latent]") {
  ThreadPool pool(2);
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 16u, 65u, 150u}) {
    for (const std::uint64_t rank : {std::uint64_t{1}, n / 2 + 1, n}) {
      INFO(n << " " << rank);
      const Dense x = random_matrix(n, rank, static_cast<unsigned>(n));
      check_eigen(pool, multiply_transposed(pool, x, x), 1e-12);
    }
  }
}

TEST_CASE("eigenvectors where eigenvalues are equal, zero or far apart", "[latent]") {
  ThreadPool pool(1);
  Dense zero(9, 9);
  check_eigen(pool, zero, 1e-12);
  Dense diagonal(12, 12);
  for (std::uint64_t i = 0; i < 12; ++i) diagonal.at(i, i) = i % 3 == 0 ? 7 : std::pow(10.0, -double(i));
  check_eigen(pool, diagonal, 1e-12);
  const Eigen sorted = symmetric_eigen(pool, diagonal);
  CHECK(sorted.values[0] == 7);
  CHECK(sorted.values[3] == 7);
  Dense negative(4, 4);
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint64_t j = 0; j < 4; ++j) negative.at(i, j) = -1;
  }
  check_eigen(pool, negative, 1e-12);
  CHECK(symmetric_eigen(pool, negative).values[3] == Approx(-4));
}

TEST_CASE("eigenvectors have the same bits with any number of threads", "[latent]") {
  ThreadPool one(1);
  ThreadPool three(3);
  const Dense x = random_matrix(300, 200, 5);
  const Eigen a = symmetric_eigen(one, multiply_transposed(one, x, x));
  const Eigen b = symmetric_eigen(three, multiply_transposed(three, x, x));
  CHECK(a.values == b.values);
  CHECK(a.vectors.values == b.vectors.values);
}
