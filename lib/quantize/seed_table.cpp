#include "quantize/seed_table.hpp"

#include "encodings/lfsr.hpp"
#include "encodings/seed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ml {

namespace {

// A basis reaches 8 P states beyond its seed.
constexpr std::uint32_t kOverhang = 40;

struct Cycle {
  std::vector<float> states = std::vector<float>(kLfsrPeriod + kOverhang);
  std::vector<std::uint16_t> seeds = std::vector<std::uint16_t>(kLfsrPeriod);
  std::vector<std::uint16_t> positions = std::vector<std::uint16_t>(kLfsrPeriod + 1);
};

const Cycle& cycle() {
  static const Cycle made = [] {
    Cycle c;
    std::uint16_t state = 1;
    for (std::uint32_t i = 0; i < c.states.size(); ++i, state = lfsr_next(state)) {
      c.states[i] = static_cast<float>(int{state} - 32768) * kSeedUnit;
      if (i >= kLfsrPeriod) continue;
      c.seeds[i] = state;
      c.positions[state] = static_cast<std::uint16_t>(i);
    }
    return c;
  }();
  return made;
}

template <unsigned kP>
using Basis = std::array<std::array<float, kP>, kSeedBlock>;  // U[c][p]
template <unsigned kP, class T>
using Square = std::array<std::array<T, kP>, kP>;

template <unsigned kP, class T>
Square<kP, T> gram(const Basis<kP>& u) {
  Square<kP, T> g{};
  for (unsigned i = 0; i < kP; ++i) {
    for (unsigned j = 0; j <= i; ++j) {
      T sum = 0;
      for (unsigned c = 0; c < kSeedBlock; ++c) sum = sum + static_cast<T>(u[c][i]) * static_cast<T>(u[c][j]);
      g[i][j] = g[j][i] = sum;
    }
  }
  return g;
}

// kernels::SeedTable::exact of a seed. @return false where the search skips the seed
bool exact_row(const Basis<3>& u, float* e) {
  const Square<3, double> g = gram<3, double>(u);
  const double a = g[1][1] * g[2][2] - g[1][2] * g[1][2];
  const double det = g[0][0] * a - g[0][1] * (g[0][1] * g[2][2] - g[1][2] * g[0][2]) +
                     g[0][2] * (g[0][1] * g[1][2] - g[1][1] * g[0][2]);
  const double r00 = std::sqrt(g[0][0]);
  const double r01 = g[0][1] / r00;
  const double r02 = g[0][2] / r00;
  const double r11 = std::sqrt(std::max(g[1][1] - r01 * r01, 0.0));
  const double r12 = r11 > 0 ? (g[1][2] - r01 * r02) / r11 : 0;
  const double r22 = std::sqrt(std::max(g[2][2] - r02 * r02 - r12 * r12, 0.0));
  const std::array<double, 6> r{r00, r01, r02, r11, r12, r22};
  for (unsigned i = 0; i < 6; ++i) e[6 + i] = static_cast<float>(r[i]);
  if (!(det > 0)) return true;  // its fit is 0
  const std::array<double, 6> inverse{
      a / det,
      (g[0][2] * g[1][2] - g[0][1] * g[2][2]) / det,
      (g[0][1] * g[1][2] - g[0][2] * g[1][1]) / det,
      (g[0][0] * g[2][2] - g[0][2] * g[0][2]) / det,
      (g[0][2] * g[0][1] - g[0][0] * g[1][2]) / det,
      (g[0][0] * g[1][1] - g[0][1] * g[0][1]) / det,
  };
  for (unsigned i = 0; i < 6; ++i) e[i] = static_cast<float>(inverse[i]);
  return true;
}

bool exact_row(const Basis<4>& u, float* e) {
  const Square<4, float> g = gram<4, float>(u);
  Square<4, float> l{};
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j <= i; ++j) {
      float rest = g[i][j];
      for (unsigned k = 0; k < j; ++k) rest = rest - l[i][k] * l[j][k];
      if (i == j && !(rest > 0)) return false;
      l[i][j] = i == j ? std::sqrt(rest) : rest / l[j][j];
    }
  }
  unsigned n = 0;
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j <= i; ++j) e[n++] = l[i][j];
  }
  for (unsigned i = 0; i < 4; ++i) e[n++] = 1.0f / l[i][i];
  return true;
}

// What a float32 sum of the search can be off, in units of |x|^2, is below kRounding * T^2 with T the sum
// over p of sqrt(G_pp inverse(G)_pp), at least P. Let u = 2^-24, and write |q| for the coefficients times
// 2^e:
//
// - A candidate counts only where its |factor q| is at most 2 |x| (1 + few u), so
//   |q_p| <= 2.1 |x| sqrt(inverse_pp) and s = sum over p of |q_p| sqrt(G_pp) <= 2.1 |x| T.
// - norm: 8 u |x|^2. Twice q.b: each b_p is off by at most 9 u |x| sqrt(G_pp), the sum by 4 u more, in all
//   26 u |x| s. |factor q|^2: the factor is that of a matrix which is off by at most 14 u sqrt(G_ii G_jj)
//   from G, and the sums of squares add 14 u: 28 u s^2. The two last sums: 3 u (|x|^2 + 2 |x| s + s^2).
//   Together u |x|^2 (11 + 32 * 2.1 T + 31 * 4.41 T^2) < 163 u |x|^2 T^2 with T >= 3.
// - The scan itself: with y = D^-1/2 L^-1 b, |y| <= |x|, each product with an element of L^-1 adds 4 u and b
//   12 u, so y_p is off by at most 18 u |x| sum over q of |(D^-1/2 L^-1)_pq| sqrt(G_qq), those sums add to at
//   most sqrt(P) T, and |y|^2 is off by 2 * 18 * 2 T u |x|^2 + 8 u |x|^2 < 27 u |x|^2 T^2.
//
// 163 + 27 < 256.
constexpr double kRounding = 256 * 0x1p-24;
// Above it the bound excludes too little to be worth its row.
constexpr double kHardest = 24;

struct Bound {
  double t;            // T above; infinite where G has no inverse
  double largest_fit;  // root of the largest element of G's inverse
};

template <unsigned kP>
Bound bounds_row(const Basis<kP>& u, float* row) {
  const Square<kP, double> g = gram<kP, double>(u);
  Square<kP, double> l{};  // unit diagonal
  std::array<double, kP> d{};
  for (unsigned i = 0; i < kP; ++i) {
    for (unsigned j = 0; j < i; ++j) {
      double rest = g[i][j];
      for (unsigned k = 0; k < j; ++k) rest -= l[i][k] * l[j][k] * d[k];
      l[i][j] = rest / d[j];
    }
    d[i] = g[i][i];
    for (unsigned k = 0; k < i; ++k) d[i] -= l[i][k] * l[i][k] * d[k];
    if (!(d[i] > 0)) return {std::numeric_limits<double>::infinity(), 0};
  }
  Square<kP, double> inverse{};  // of l
  for (unsigned j = 0; j < kP; ++j) {
    inverse[j][j] = 1;
    for (unsigned i = j + 1; i < kP; ++i) {
      double sum = 0;
      for (unsigned k = j; k < i; ++k) sum -= l[i][k] * inverse[k][j];
      inverse[i][j] = sum;
    }
  }
  Bound bound{0, 0};
  for (unsigned q = 0; q < kP; ++q) {
    double diagonal = 0;
    for (unsigned p = q; p < kP; ++p) diagonal += inverse[p][q] * inverse[p][q] / d[p];
    bound.t += std::sqrt(g[q][q] * diagonal);
    bound.largest_fit = std::max(bound.largest_fit, std::sqrt(diagonal));
  }
  for (unsigned p = 0; p < kP; ++p) row[1 + p] = static_cast<float>(1 / d[p]);
  float* below = row + 1 + kP;
  for (unsigned p = 1; p < kP; ++p) {
    for (unsigned q = 0; q < p; ++q) *below++ = static_cast<float>(inverse[p][q]);
  }
  row[0] = static_cast<float>(kRounding * bound.t * bound.t);
  return bound;
}

}  // namespace

template <unsigned kP>
void SeedTables::add_seed(std::uint32_t position) {
  Basis<kP> u;
  for (unsigned c = 0; c < kSeedBlock; ++c) {
    for (unsigned p = 0; p < kP; ++p) u[c][p] = table_.states[position + 1 + kP * c + p] * table_.scale[c];
  }
  float* bounds = bounds_.data() + std::uint64_t{position} * kernels::kSeedBounds;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const auto at = static_cast<std::uint16_t>(position);
  if (!exact_row(u, exact_.data() + std::uint64_t{position} * kernels::kSeedExact)) {
    bounds[0] = kNever;
    return;
  }
  all_.push_back(at);
  const Bound bound = bounds_row<kP>(u, bounds);
  if (!(bound.t < kHardest)) {
    std::fill_n(bounds, kernels::kSeedBounds, 0.0f);
    bounds[0] = kNever;
    hard_.push_back(at);
    return;
  }
  largest_fit_ = std::max(largest_fit_, static_cast<float>(bound.largest_fit));
  if (!has_easy_ || seeds()[position] < seeds()[first_easy_]) first_easy_ = at;
  has_easy_ = true;
}

SeedTables::SeedTables(unsigned n_coefs, std::span<const float> scales)
    : exact_(std::uint64_t{kLfsrPeriod} * kernels::kSeedExact),
      bounds_(std::uint64_t{kLfsrPeriod} * kernels::kSeedBounds) {
  table_.states = cycle().states.data();
  table_.exact = exact_.data();
  table_.bounds = bounds_.data();
  std::copy_n(scales.begin(), kSeedBlock, table_.scale);
  all_.reserve(kLfsrPeriod);
  for (std::uint32_t i = 0; i < kLfsrPeriod; ++i) n_coefs == 3 ? add_seed<3>(i) : add_seed<4>(i);
}

const SeedTables& SeedTables::plain(unsigned n_coefs) {
  static constexpr std::array<float, kSeedBlock> kOnes{1, 1, 1, 1, 1, 1, 1, 1};
  if (n_coefs == 3) {
    static const SeedTables three(3, kOnes);
    return three;
  }
  static const SeedTables four(4, kOnes);
  return four;
}

const std::uint16_t* SeedTables::seeds() const { return cycle().seeds.data(); }

std::uint32_t SeedTables::position(std::uint16_t seed) const { return cycle().positions[seed]; }

}  // namespace ml
