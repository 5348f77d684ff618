#include <ml/inspect.hpp>
#include <ml/target.hpp>

#include "util/thread_pool.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace ml {

namespace {

// Rows go through in pieces whose size depends on the tensor alone, and the pieces' sums are added in order:
// so the result is the same however many threads there are.
constexpr std::uint64_t kPieceWeights = std::uint64_t(1) << 18;
constexpr std::size_t kLanes = 8;

std::uint64_t rows_a_piece(const TensorView& view) {
  return std::max<std::uint64_t>(1, kPieceWeights / std::max<std::uint64_t>(1, view.cols));
}

struct Moments {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0;
  double squares = 0;
  std::uint64_t n_zero = 0;
  std::uint64_t n_non_finite = 0;

  void add(const Moments& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    squares += other.squares;
    n_zero += other.n_zero;
    n_non_finite += other.n_non_finite;
  }
};

bool finite(float value) { return std::fabs(value) <= std::numeric_limits<float>::max(); }

// Element i goes to lane i mod 8, so that the compiler may use vectors without changing the order of a sum.
void add_row(std::span<const float> row, std::array<Moments, kLanes>& lanes) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    Moments& lane = lanes[i % kLanes];
    const float value = row[i];
    if (!finite(value)) {
      ++lane.n_non_finite;
      continue;
    }
    lane.min = std::min(lane.min, value);
    lane.max = std::max(lane.max, value);
    lane.sum += static_cast<double>(value);
    lane.squares += static_cast<double>(value) * static_cast<double>(value);
    lane.n_zero += value == 0 ? 1 : 0;
  }
}

template <class Partial, class Row>
std::vector<Partial> by_pieces(const TensorView& view, ThreadPool& pool, const Row& row_job) {
  const std::uint64_t rows = rows_a_piece(view);
  std::vector<Partial> partials((view.rows + rows - 1) / rows);
  pool.run(partials.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<float> values(view.cols);
    for (std::uint64_t piece = begin; piece < end; ++piece) {
      for (std::uint64_t row = piece * rows; row < std::min(view.rows, (piece + 1) * rows); ++row) {
        decode_row(view, row, values);
        row_job(std::span<const float>(values), partials[piece]);
      }
    }
  });
  return partials;
}

}  // namespace

TensorStats tensor_stats(const TensorView& view, unsigned threads) {
  TensorStats stats;
  stats.n = view.n_weights();
  if (stats.n == 0) return stats;
  const std::uint64_t n_pieces = (view.rows + rows_a_piece(view) - 1) / rows_a_piece(view);
  const unsigned wanted = threads == 0 ? available_threads() : threads;
  ThreadPool pool(static_cast<unsigned>(std::clamp<std::uint64_t>(n_pieces, 1, wanted)));

  using Lanes = std::array<Moments, kLanes>;
  Moments all;
  for (const Lanes& lanes : by_pieces<Lanes>(view, pool, add_row)) {
    for (const Moments& lane : lanes) all.add(lane);
  }
  stats.n_zero = all.n_zero;
  stats.n_non_finite = all.n_non_finite;
  const std::uint64_t n_finite = stats.n - stats.n_non_finite;
  if (n_finite == 0) return stats;
  stats.min = all.min;
  stats.max = all.max;
  stats.mean = all.sum / static_cast<double>(n_finite);
  stats.rms = std::sqrt(all.squares / static_cast<double>(n_finite));

  using Bins = std::array<std::uint64_t, kHistogramBins>;
  const double low = static_cast<double>(stats.min);
  const double range = static_cast<double>(stats.max) - low;
  const double scale = range > 0 ? static_cast<double>(kHistogramBins) / range : 0;
  const auto count_row = [&](std::span<const float> row, Bins& bins) {
    for (const float value : row) {
      if (!finite(value)) continue;
      const auto bin = static_cast<std::size_t>((static_cast<double>(value) - low) * scale);
      ++bins[std::min(bin, kHistogramBins - 1)];
    }
  };
  for (const Bins& bins : by_pieces<Bins>(view, pool, count_row)) {
    for (std::size_t i = 0; i < kHistogramBins; ++i) stats.histogram[i] += bins[i];
  }
  return stats;
}

std::optional<std::array<std::uint64_t, 2>> find_non_finite(const TensorView& view) {
  std::vector<float> values(view.cols);
  for (std::uint64_t row = 0; row < view.rows; ++row) {
    decode_row(view, row, values);
    const auto bad = std::find_if_not(values.begin(), values.end(), finite);
    if (bad != values.end()) return std::array{row, static_cast<std::uint64_t>(bad - values.begin())};
  }
  return std::nullopt;
}

double rms_difference(const TensorView& a, const TensorView& b) {
  assert(a.rows == b.rows && a.cols == b.cols);
  std::vector<float> in_a(a.cols);
  std::vector<float> in_b(b.cols);
  double squares = 0;
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    decode_row(a, row, in_a);
    decode_row(b, row, in_b);
    for (std::size_t i = 0; i < in_a.size(); ++i) {
      const double difference = static_cast<double>(in_a[i]) - static_cast<double>(in_b[i]);
      squares += difference * difference;
    }
  }
  return a.n_weights() == 0 ? 0 : std::sqrt(squares / static_cast<double>(a.n_weights()));
}

}  // namespace ml
