#include "quantize/seed_search.hpp"

#include "encodings/lfsr.hpp"
#include "encodings/seed.hpp"
#include "kernels/seed_fit.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ml {

namespace {

using kernels::kSeedLanes;

// Seeds that are scanned before those found are tried: what they leave in the cache, and how late the rest
// profits.
constexpr std::uint32_t kTile = 512;

// Of |x|^2: well inside, nothing the arithmetic meets is subnormal or overflows.
constexpr float kSmallest = 0x1p-100f;
constexpr float kLargest = 0x1p100f;

// floor(log2(x)); -127 for 0 and subnormals.
std::int32_t exponent_of(float x) {
  return static_cast<std::int32_t>((std::bit_cast<std::uint32_t>(x) >> 23) & 0xffu) - 127;
}

float power_of_two(std::int32_t e) {
  return std::bit_cast<float>((static_cast<std::uint32_t>(e) + 127u) << 23);
}

float square_of(const float* x) {
  float sum = 0;
  for (std::uint32_t c = 0; c < kSeedBlock; ++c) sum = sum + x[c] * x[c];
  return sum;
}

// Missing blocks are zeros: no seed is better than another, and the scan needs more than there is.
kernels::SeedBlocks load_group(std::span<const float> x, std::size_t first) {
  kernels::SeedBlocks group{};
  for (std::uint32_t lane = 0; lane < kSeedLanes; ++lane) {
    group.error[lane] = std::numeric_limits<float>::infinity();
    group.seed[lane] = 1;
    const std::size_t at = (first + lane) * kSeedBlock;
    if (at >= x.size()) continue;
    for (std::uint32_t c = 0; c < kSeedBlock; ++c) group.x[c][lane] = x[at + c];
    group.norm[lane] = square_of(x.data() + at);
  }
  return group;
}

// (Re)states what a seed must explain of each block to beat or equal the best so far.
void state_need(kernels::SeedBlocks& group) {
  constexpr double kSlack = 1e-6;
  for (std::uint32_t lane = 0; lane < kSeedLanes; ++lane) {
    if (group.norm[lane] == 0) {
      group.need[lane] = std::numeric_limits<float>::infinity();
    } else if (group.need[lane] != std::numeric_limits<float>::infinity()) {
      const double share = 1 - static_cast<double>(group.error[lane]) / static_cast<double>(group.norm[lane]);
      group.need[lane] = static_cast<float>(share - kSlack);
    }
  }
}

template <unsigned kP>
std::array<float, kSeedBlock> block_weights(std::uint16_t seed, const std::array<std::int32_t, kP>& q,
                                            float scale) {
  const std::uint64_t stream = lfsr_stream(seed);
  std::array<float, kSeedBlock> weights;
  for (unsigned c = 0; c < kSeedBlock; ++c) {
    std::int32_t sum = 0;
    for (unsigned p = 0; p < kP; ++p) sum += basis_element(stream, kP * c + p + 1) * q[p];
    weights[c] = bf16_to_f32(f32_to_bf16(static_cast<float>(sum) * scale));
  }
  return weights;
}

}  // namespace

void SeedSearch::try_seeds(std::span<const std::uint16_t> positions, kernels::SeedBlocks& blocks) const {
  kernels_.try_seeds[n_coefs_ - 3](tables_.table(), positions.data(),
                                   static_cast<std::uint32_t>(positions.size()), tables_.seeds(), bias_,
                                   blocks);
}

// Leaves the lanes that the scan is to serve with their taps, the others with a need that nothing meets.
// @return false where some block needs every seed
bool SeedSearch::scan_applies(kernels::SeedBlocks& blocks) const {
  for (std::uint32_t lane = 0; lane < kSeedLanes; ++lane) {
    const float norm = blocks.norm[lane];
    if (norm != 0 && !(norm > kSmallest && norm < kLargest)) return false;
    bool zero = norm == 0;
    for (std::uint32_t c = 0; c < kSeedBlock && zero; ++c) zero = blocks.x[c][lane] == 0;
    if (norm == 0 && !zero) return false;
    const float size = std::sqrt(norm);
    // Every coefficient of every seed that is not hard is 0: its error is |x|^2.
    const bool all_round_to_0 =
        size * tables_.largest_fit() * 1.001f < power_of_two(std::max(bias_, -120) - 1);
    if (zero || all_round_to_0) {
      blocks.need[lane] = std::numeric_limits<float>::infinity();
      continue;
    }
    for (std::uint32_t c = 0; c < kSeedBlock; ++c)
      blocks.taps[c][lane] = blocks.x[c][lane] / size * tables_.table().scale[c];
  }
  return true;
}

void SeedSearch::find(std::span<const float> x, SeedBlockFit* fits) const {
  const std::size_t n_groups = (x.size() / kSeedBlock + kSeedLanes - 1) / kSeedLanes;
  std::array<kernels::SeedBlocks, kBlocks / kSeedLanes> groups;
  std::array<bool, kBlocks / kSeedLanes> scanned;
  for (std::size_t g = 0; g < n_groups; ++g) {
    groups[g] = load_group(x, g * kSeedLanes);
    scanned[g] = scan_applies(groups[g]);
    if (!scanned[g]) {
      try_seeds(tables_.all(), groups[g]);
      continue;
    }
    try_seeds(tables_.hard(), groups[g]);
    try_seeds(tables_.first_easy(), groups[g]);
  }
  std::array<std::uint16_t, kTile * kernels::kSeedScanRoom> found;
  for (std::uint32_t begin = 0; begin < kLfsrPeriod; begin += kTile) {
    const std::uint32_t end = std::min(begin + kTile, kLfsrPeriod);
    for (std::size_t g = 0; g < n_groups; ++g) {
      if (!scanned[g]) continue;
      state_need(groups[g]);
      const std::uint32_t n =
          kernels_.scan_seeds[n_coefs_ - 3](tables_.table(), begin, end, groups[g], found.data());
      try_seeds(std::span(found).first(n), groups[g]);
    }
  }
  finish(x, std::span(groups).first(n_groups), fits);
}

void SeedSearch::find_by_trying_all(std::span<const float> x, SeedBlockFit* fits) const {
  const std::size_t n_groups = (x.size() / kSeedBlock + kSeedLanes - 1) / kSeedLanes;
  std::array<kernels::SeedBlocks, kBlocks / kSeedLanes> groups;
  for (std::size_t g = 0; g < n_groups; ++g) {
    groups[g] = load_group(x, g * kSeedLanes);
    try_seeds(tables_.all(), groups[g]);
  }
  finish(x, std::span(groups).first(n_groups), fits);
}

void SeedSearch::finish(std::span<const float> x, std::span<const kernels::SeedBlocks> groups,
                        SeedBlockFit* fits) const {
  for (std::size_t i = 0; i < x.size() / kSeedBlock; ++i) {
    const kernels::SeedBlocks& group = groups[i / kSeedLanes];
    const std::uint32_t lane = i % kSeedLanes;
    const bool found = group.error[lane] < std::numeric_limits<float>::infinity();
    const auto seed = static_cast<std::uint16_t>(group.seed[lane]);
    const std::int32_t exponent = found ? group.exponent[lane] : bias_;
    const float* block = x.data() + i * kSeedBlock;
    fits[i] = n_coefs_ == 3 ? refit<3>(block, seed, exponent) : refit<4>(block, seed, exponent);
  }
}

// The winner's coefficients: the plain rounding, or the best of its neighbours by the error of what is
// stored.
template <unsigned kP>
SeedBlockFit SeedSearch::refit(const float* x, std::uint16_t seed, std::int32_t exponent) const {
  const kernels::SeedTable& table = tables_.table();
  const std::uint32_t position = tables_.position(seed);
  const float* states = table.states + position + 1;
  std::array<float, kP> b{};
  for (unsigned c = 0; c < kSeedBlock; ++c) {
    for (unsigned p = 0; p < kP; ++p) b[p] = b[p] + states[kP * c + p] * table.scale[c] * x[c];
  }
  std::array<float, kP> t;
  kernels::SeedFit<kP, float>::solve(table.exact + std::uint64_t{position} * kernels::kSeedExact, b.data(),
                                     t.data());
  std::array<std::int32_t, kP> plain;
  const float inverse = power_of_two(-exponent);
  for (unsigned p = 0; p < kP; ++p)
    plain[p] = static_cast<std::int32_t>(kernels::round_coefficient(t[p] * inverse));

  const float scale = kSeedUnit * power_of_two(exponent);
  const auto error_of = [&](const std::array<std::int32_t, kP>& q) {
    const std::array<float, kSeedBlock> weights = block_weights<kP>(seed, q, scale);
    float sum = 0;
    for (unsigned c = 0; c < kSeedBlock; ++c) {
      const float d = x[c] - table.scale[c] * weights[c];
      sum = sum + d * d;
    }
    return sum;
  };
  std::array<std::int32_t, kP> best = plain;
  float best_error = error_of(plain);
  constexpr unsigned kNeighbours = kP == 3 ? 27 : 81;
  for (unsigned i = 0; i < kNeighbours; ++i) {
    std::array<std::int32_t, kP> q;
    bool fits = true;
    unsigned digits = i;
    for (unsigned k = 0; k < kP; ++k, digits /= 3) {
      // The first coefficient moves slowest for P = 3, fastest for P = 4.
      const unsigned p = kP == 3 ? kP - 1 - k : k;
      q[p] = plain[p] + static_cast<std::int32_t>(digits % 3) - 1;
      fits = fits && q[p] >= -8 && q[p] <= 7;
    }
    if (!fits) continue;
    if (const float error = error_of(q); error < best_error) {
      best_error = error;
      best = q;
    }
  }
  SeedBlockFit fit{.seed = seed, .code = static_cast<std::uint8_t>(exponent - bias_), .error = best_error};
  for (unsigned p = 0; p < kP; ++p) fit.q[p] = static_cast<std::int8_t>(best[p]);
  return fit;
}

bool SeedBias::add(std::span<const float> weights) {
  for (std::size_t i = 0; i + kSeedBlock <= weights.size(); i += kSeedBlock) {
    const float square = square_of(weights.data() + i);
    if (!(square <= std::numeric_limits<float>::max())) return false;
    if (square > 0) top_ = std::max(top_, exponent_of(2.0f * std::sqrt(square)) - 2);
  }
  return true;
}

}  // namespace ml
