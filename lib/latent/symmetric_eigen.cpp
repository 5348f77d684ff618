#include "latent/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ml {

namespace {

// A plane rotation of two neighbouring rows.
struct Rotation {
  std::uint64_t row;  // and the one after it
  double c;
  double s;
};

class Solver {
 public:
  Solver(ThreadPool& pool, Dense a, const std::function<void(double)>& progress)
      : pool_(pool),
        n_(a.rows),
        a_(std::move(a)),
        progress_(progress),
        diagonal_(n_),
        beside_(n_),
        factors_(n_) {}

  Eigen solve() {
    reduce();
    make_basis();
    iterate();
    return sorted();
  }

 private:
  void tell(double share) const {
    if (progress_) progress_(share);
  }

  // a becomes tridiagonal: column k is reflected onto its first element below the diagonal. The reflections,
  // I - factor v v^T, stay in row k of what was above the diagonal.
  void reduce() {
    for (std::uint64_t r = 0; r < n_; ++r) {
      for (std::uint64_t c = r + 1; c < n_; ++c) a_.at(r, c) = a_.at(c, r);
    }
    std::vector<double> v(n_);
    std::vector<double> p(n_);
    for (std::uint64_t k = 0; k + 2 < n_; ++k) {
      const std::uint64_t first = k + 1;
      const std::uint64_t m = n_ - first;
      std::copy_n(a_.row(k) + first, m, v.data());
      const double norm = std::sqrt(dot(v.data(), v.data(), m));
      diagonal_[k] = a_.at(k, k);
      if (norm == 0) {
        beside_[k] = 0;
        factors_[k] = 0;
        continue;
      }
      const double alpha = v[0] > 0 ? -norm : norm;
      v[0] -= alpha;
      const double factor = 2 / dot(v.data(), v.data(), m);
      beside_[k] = alpha;
      factors_[k] = factor;
      // p = factor A v, w = p - (factor / 2)(p.v) v; A -= v w^T + w v^T
      for_rows(m, [&](std::uint64_t i) { p[i] = factor * dot(a_.row(first + i) + first, v.data(), m); });
      const double half = factor / 2 * dot(p.data(), v.data(), m);
      for (std::uint64_t i = 0; i < m; ++i) p[i] -= half * v[i];
      for_rows(m, [&](std::uint64_t i) {
        double* row = a_.row(first + i) + first;
        const double vi = v[i];
        const double wi = p[i];
        for (std::uint64_t j = 0; j < m; ++j) row[j] -= vi * p[j] + wi * v[j];
      });
      std::copy_n(v.data(), m, a_.row(k) + first);
      if (k % 64 == 0) tell(0.4 * static_cast<double>(k) / static_cast<double>(n_));
    }
    for (std::uint64_t k = n_ >= 2 ? n_ - 2 : 0; k < n_; ++k) {
      diagonal_[k] = a_.at(k, k);
      if (k + 1 < n_) beside_[k] = a_.at(k, k + 1);
    }
  }

  // Rows of vectors_: the columns of the product of all reflections.
  void make_basis() {
    vectors_ = Dense(n_, n_);
    for (std::uint64_t i = 0; i < n_; ++i) vectors_.at(i, i) = 1;
    for (std::uint64_t k = n_ >= 2 ? n_ - 2 : 0; k-- > 0;) {
      if (factors_[k] == 0) continue;
      const std::uint64_t first = k + 1;
      const std::uint64_t m = n_ - first;
      const double* v = a_.row(k) + first;
      for_rows(m, [&](std::uint64_t i) {
        double* row = vectors_.row(first + i) + first;
        const double along = factors_[k] * dot(row, v, m);
        for (std::uint64_t j = 0; j < m; ++j) row[j] -= along * v[j];
      });
    }
    tell(0.6);
  }

  // Below it an element beside the diagonal counts as 0.
  bool is_small(std::uint64_t i) const {
    return std::fabs(beside_[i]) <= 0x1p-53 * (std::fabs(diagonal_[i]) + std::fabs(diagonal_[i + 1]));
  }

  void iterate() {
    constexpr std::uint64_t kRotationsTogether = 1u << 16;
    for (std::uint64_t low = 0; low < n_; ++low) {
      for (int sweep = 0; sweep < 60; ++sweep) {
        std::uint64_t high = low;
        while (high + 1 < n_ && !is_small(high)) ++high;
        if (high == low) break;
        step(low, high);
        if (rotations_.size() >= kRotationsTogether) rotate();
      }
      if (low % 64 == 0) tell(0.6 + 0.4 * static_cast<double>(low) / static_cast<double>(n_));
    }
    rotate();
  }

  // One implicit QL step on rows low .. high.
  void step(std::uint64_t low, std::uint64_t high) {
    const double half = (diagonal_[low + 1] - diagonal_[low]) / (2 * beside_[low]);
    const double root = std::sqrt(half * half + 1);
    double g = diagonal_[high] - diagonal_[low] + beside_[low] / (half + std::copysign(root, half));
    double s = 1;
    double c = 1;
    double p = 0;
    for (std::uint64_t i = high; i-- > low;) {
      double f = s * beside_[i];
      const double b = c * beside_[i];
      const double r = std::sqrt(f * f + g * g);
      beside_[i + 1] = r;
      if (r == 0) {  // it split: the rest is another step's
        diagonal_[i + 1] -= p;
        beside_[high] = 0;
        return;
      }
      s = f / r;
      c = g / r;
      g = diagonal_[i + 1] - p;
      f = (diagonal_[i] - g) * s + 2 * c * b;
      p = s * f;
      diagonal_[i + 1] = g + p;
      g = c * f - b;
      rotations_.push_back({i, c, s});
    }
    diagonal_[low] -= p;
    beside_[low] = g;
    beside_[high] = 0;
  }

  // All rotations so far, columns side by side.
  void rotate() {
    constexpr std::uint64_t kColumns = 64;
    pool_.run(n_, kColumns, [&](std::uint64_t begin, std::uint64_t end) {
      for (const Rotation& rotation : rotations_) {
        double* upper = vectors_.row(rotation.row);
        double* lower = vectors_.row(rotation.row + 1);
        for (std::uint64_t i = begin; i < end; ++i) {
          const double x = upper[i];
          const double y = lower[i];
          lower[i] = rotation.s * x + rotation.c * y;
          upper[i] = rotation.c * x - rotation.s * y;
        }
      }
    });
    rotations_.clear();
  }

  Eigen sorted() const {
    std::vector<std::uint64_t> order(n_);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return diagonal_[a] > diagonal_[b]; });
    Eigen result{.values = {}, .vectors = Dense(n_, n_)};
    for (std::uint64_t i = 0; i < n_; ++i) {
      result.values.push_back(diagonal_[order[i]]);
      const double* from = vectors_.row(order[i]);
      const double* largest =
          std::max_element(from, from + n_, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
      const double sign = *largest < 0 ? -1 : 1;
      std::transform(from, from + n_, result.vectors.row(i), [sign](double x) { return sign * x; });
    }
    return result;
  }

  void for_rows(std::uint64_t n, const std::function<void(std::uint64_t)>& job) {
    constexpr std::uint64_t kWorthAThread = 256;
    pool_.run(n, n < kWorthAThread ? std::max<std::uint64_t>(n, 1) : 32,
              [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t i = begin; i < end; ++i) job(i);
              });
  }

  ThreadPool& pool_;
  std::uint64_t n_;
  Dense a_;
  const std::function<void(double)>& progress_;
  std::vector<double> diagonal_;
  std::vector<double> beside_;  // element k: row k, column k + 1
  std::vector<double> factors_;
  Dense vectors_;
  std::vector<Rotation> rotations_;
};

}  // namespace

Eigen symmetric_eigen(ThreadPool& pool, Dense a, const std::function<void(double)>& progress) {
  return Solver(pool, std::move(a), progress).solve();
}

}  // namespace ml
