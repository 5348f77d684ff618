#include "latent/latent_basis.hpp"

#include "latent/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

namespace ml {

namespace {

using Complex = std::complex<double>;

constexpr std::uint64_t kHead = 128;
constexpr std::uint64_t kPairs = kHead / 2;
// Below this share of the keys' energy what the rotated key leaves is rounding.
constexpr double kNothing = 1e-20;

// Pair i of a head, dimensions i and i + 64, is a complex number, which RoPE multiplies by a unit one.
struct Pair {
  std::uint64_t re, im;  // rows
  Pair(std::uint64_t head, std::uint64_t i) : re(kHead * head + i), im(re + kPairs) {}
};

// One key of all heads for each pair, and each head's part in it: key of head g = alpha[g] kappa + the rest.
struct SharedKey {
  Dense kappa;                              // [128][dim]
  std::vector<std::vector<Complex>> alpha;  // [pair][head]
  double kept = 0;
  double total = 0;
};

// Root of the summed mean squares of the pair's queries of each group of heads.
std::vector<std::vector<double>> query_norms(ThreadPool& pool, const HeadWeights& heads,
                                             const Dense& inputs) {
  const Dense projected = multiply_transposed(pool, heads.wq, inputs);
  const std::uint64_t group = heads.n_heads / heads.n_kv_heads;
  std::vector<std::vector<double>> norms(kPairs, std::vector<double>(heads.n_kv_heads));
  const auto energy = [&](std::uint64_t row) {
    return dot(projected.row(row), heads.wq.row(row), heads.wq.cols);
  };
  double largest = 0;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    for (std::uint64_t head = 0; head < heads.n_heads; ++head) {
      const Pair pair(head, i);
      norms[i][head / group] += energy(pair.re) + energy(pair.im);
    }
    for (double& norm : norms[i]) {
      norm = std::sqrt(std::max(norm, 0.0));
      largest = std::max(largest, norm);
    }
  }
  // A head without queries does not mind its key; the key stays a finite multiple of the shared one.
  for (auto& of_pair : norms) {
    for (double& norm : of_pair) norm = largest > 0 ? std::max(norm, 1e-6 * largest) : 1;
  }
  return norms;
}

// The top unit eigenvector of a Hermitian matrix, its largest component real and above 0; by the symmetric
// matrix [re, -im; im, re], which has each eigenvalue twice.
std::vector<Complex> top_eigenvector(ThreadPool& pool, const std::vector<Complex>& matrix, std::uint64_t n,
                                     double& value) {
  if (n == 1) {
    value = matrix[0].real();
    return {Complex(1)};
  }
  Dense real(2 * n, 2 * n);
  for (std::uint64_t r = 0; r < n; ++r) {
    for (std::uint64_t c = 0; c < n; ++c) {
      const Complex element = matrix[r * n + c];
      real.at(r, c) = real.at(n + r, n + c) = element.real();
      real.at(n + r, c) = element.imag();
      real.at(r, n + c) = -element.imag();
    }
  }
  const Eigen eigen = symmetric_eigen(pool, std::move(real));
  value = eigen.values[0];
  std::vector<Complex> vector(n);
  for (std::uint64_t i = 0; i < n; ++i) vector[i] = {eigen.vectors.at(0, i), eigen.vectors.at(0, n + i)};
  const Complex largest =
      *std::max_element(vector.begin(), vector.end(),
                        [](const Complex& a, const Complex& b) { return std::norm(a) < std::norm(b); });
  const Complex turn = std::conj(largest) / std::abs(largest);
  for (Complex& element : vector) element *= turn;
  return vector;
}

SharedKey share_keys(ThreadPool& pool, const HeadWeights& heads, const Dense& inputs) {
  const std::uint64_t n = heads.n_kv_heads;
  const std::uint64_t dim = inputs.rows;
  const auto norms = query_norms(pool, heads, inputs);
  const Dense gram = multiply_transposed(pool, multiply_transposed(pool, heads.wk, inputs), heads.wk);
  SharedKey shared{.kappa = Dense(kHead, dim), .alpha = {}};
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const std::vector<double>& s = norms[i];
    std::vector<Complex> matrix(n * n);
    for (std::uint64_t g = 0; g < n; ++g) {
      for (std::uint64_t h = 0; h < n; ++h) {
        const Pair a(g, i);
        const Pair b(h, i);
        matrix[g * n + h] =
            s[g] * s[h] *
            Complex(gram.at(a.re, b.re) + gram.at(a.im, b.im), gram.at(a.im, b.re) - gram.at(a.re, b.im));
      }
      shared.total += matrix[g * n + g].real();
    }
    double value = 0;
    const std::vector<Complex> w = top_eigenvector(pool, matrix, n, value);
    shared.kept += value;
    const double norm = std::sqrt(dot(s.data(), s.data(), n));
    std::vector<Complex> alpha;
    for (std::uint64_t g = 0; g < n; ++g) {
      alpha.push_back(w[g] * (norm / s[g]));
      const Complex part = std::conj(w[g]) * (s[g] / norm);  // kappa = sum of part K_g
      const double* re = heads.wk.row(Pair(g, i).re);
      const double* im = heads.wk.row(Pair(g, i).im);
      double* to_re = shared.kappa.row(i);
      double* to_im = shared.kappa.row(i + kPairs);
      for (std::uint64_t c = 0; c < dim; ++c) {
        to_re[c] += part.real() * re[c] - part.imag() * im[c];
        to_im[c] += part.real() * im[c] + part.imag() * re[c];
      }
    }
    shared.alpha.push_back(std::move(alpha));
  }
  return shared;
}

// What the shared key leaves of each head's.
Dense remaining_keys(const HeadWeights& heads, const SharedKey& shared) {
  Dense rest = heads.wk;
  for (std::uint64_t g = 0; g < heads.n_kv_heads; ++g) {
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      const Complex alpha = shared.alpha[i][g];
      const double* re = shared.kappa.row(i);
      const double* im = shared.kappa.row(i + kPairs);
      double* rest_re = rest.row(Pair(g, i).re);
      double* rest_im = rest.row(Pair(g, i).im);
      for (std::uint64_t c = 0; c < rest.cols; ++c) {
        rest_re[c] -= alpha.real() * re[c] - alpha.imag() * im[c];
        rest_im[c] -= alpha.real() * im[c] + alpha.imag() * re[c];
      }
    }
  }
  return rest;
}

Dense mix_of(const HeadWeights& heads, const SharedKey& shared) {
  Dense mix(heads.n_heads * kHead, kHead);
  const std::uint64_t group = heads.n_heads / heads.n_kv_heads;
  for (std::uint64_t head = 0; head < heads.n_heads; ++head) {
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      const Complex alpha = shared.alpha[i][head / group];
      const Pair pair(head, i);
      mix.at(pair.re, i) = mix.at(pair.im, i + kPairs) = alpha.real();
      mix.at(pair.re, i + kPairs) = alpha.imag();
      mix.at(pair.im, i) = -alpha.imag();
    }
  }
  return mix;
}

// Rows of the remaining keys (times their weight) and of values, as one basis: [rank][2 * 128 * n_kv_heads].
struct Basis {
  Dense directions;
  double key_weight = 1;
  double lost = 0;
};

// Unit vectors of the values alone.
Basis identity_basis(std::uint64_t n_rows, std::uint64_t rank) {
  Basis basis{.directions = Dense(rank, 2 * n_rows)};
  for (std::uint64_t i = 0; i < n_rows; ++i) basis.directions.at(i, n_rows + i) = 1;
  return basis;
}

Basis main_directions(ThreadPool& pool, Dense& rows, const Dense& inputs, std::uint64_t rank,
                      const std::function<void(double)>& progress) {
  const std::uint64_t half = rows.rows / 2;
  Dense energy = multiply_transposed(pool, multiply_transposed(pool, rows, inputs), rows);
  double of_keys = 0;
  double of_values = 0;
  for (std::uint64_t i = 0; i < half; ++i) {
    of_keys += energy.at(i, i);
    of_values += energy.at(half + i, half + i);
  }
  Basis basis{.directions = Dense(rank, rows.rows)};
  if (of_keys > 0 && of_values > 0) basis.key_weight = std::sqrt(of_values / of_keys);
  for (std::uint64_t r = 0; r < rows.rows; ++r) {
    for (std::uint64_t c = 0; c < rows.rows; ++c)
      energy.at(r, c) *= (r < half ? basis.key_weight : 1) * (c < half ? basis.key_weight : 1);
  }
  const double total = trace(energy);
  const Eigen eigen = symmetric_eigen(pool, std::move(energy), progress);
  double kept = 0;
  for (std::uint64_t i = 0; i < std::min(rank, rows.rows); ++i) {
    kept += eigen.values[i];
    std::copy_n(eigen.vectors.row(i), rows.rows, basis.directions.row(i));
  }
  basis.lost = total > 0 ? std::max(0.0, 1 - kept / total) : 0;
  return basis;
}

}  // namespace

LatentWeights fit_latent(ThreadPool& pool, const HeadWeights& heads, const Dense& inputs, std::uint64_t rank,
                         double lat_scale, const std::function<void(double)>& progress) {
  const std::uint64_t half = heads.n_kv_heads * kHead;
  const std::uint64_t dim = inputs.rows;
  SharedKey shared = share_keys(pool, heads, inputs);
  Dense rows(2 * half, dim);
  {
    const Dense rest = remaining_keys(heads, shared);
    std::copy(rest.values.begin(), rest.values.end(), rows.values.begin());
    std::copy(heads.wv.values.begin(), heads.wv.values.end(), rows.row(half));
  }
  const auto energy = [](const double* values, std::uint64_t n) { return dot(values, values, n); };
  const bool no_keys = energy(rows.row(0), half * dim) <= kNothing * energy(heads.wk.row(0), half * dim);
  if (no_keys) std::fill_n(rows.row(0), half * dim, 0.0);
  const Basis basis = no_keys && rank >= half ? identity_basis(half, rank)
                                              : main_directions(pool, rows, inputs, rank, progress);

  LatentWeights result;
  result.q_lat = Dense(heads.n_heads * rank, kHead);
  result.v_up = Dense(heads.n_heads * kHead, rank);
  result.q_rope_mix = mix_of(heads, shared);
  result.k_rope_proj = std::move(shared.kappa);
  for (std::uint64_t i = 0; i < half * dim; ++i) rows.values[i] *= basis.key_weight;
  result.kv_a_x = multiply_transposed(pool, basis.directions, transposed(rows));
  const std::uint64_t group = heads.n_heads / heads.n_kv_heads;
  for (std::uint64_t head = 0; head < heads.n_heads; ++head) {
    const std::uint64_t first = head / group * kHead;
    for (std::uint64_t r = 0; r < rank; ++r) {
      const double* direction = basis.directions.row(r);
      for (std::uint64_t i = 0; i < kHead; ++i) {
        result.q_lat.at(head * rank + r, i) = direction[first + i] / basis.key_weight * lat_scale;
        result.v_up.at(head * kHead + i, r) = direction[half + first + i];
      }
    }
  }
  result.rotation_lost = shared.total > 0 ? std::max(0.0, 1 - shared.kept / shared.total) : 0;
  result.latent_lost = basis.lost;
  return result;
}

}  // namespace ml
