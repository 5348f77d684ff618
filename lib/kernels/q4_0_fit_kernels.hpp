#pragma once

// The search for the scale and levels of 4-bit blocks (mlb(5), QUANTIZATION), one block a lane: sums run in
// element order in every lane, whatever the width of the machine's vectors. Include after a quant_lanes
// header.

#include "kernels/quant_kernels.hpp"

namespace ml::kernels {
namespace {

template <std::uint64_t kGroup>
struct Q4Work {
  float raw[kGroup][kLanes];  // as they came
  Floats x[kGroup];           // divided by unit
  Floats w[kGroup];
  Floats unit;
  Floats largest;  // of x, signed, the first among equals
};

template <std::uint64_t kGroup>
inline void transpose(const float* const* blocks, float out[][kLanes]) {
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    for (std::uint64_t j = 0; j < kGroup; ++j) out[j][lane] = blocks[lane][j];
  }
}

// What each block is divided by: 1, or its largest magnitude where that is small or to_unit says so.
template <std::uint64_t kGroup>
inline bool find_units(const Q4Blocks& blocks, Q4Work<kGroup>& work) {
  Floats amax = set1(0.0f);
  for (std::uint64_t j = 0; j < kGroup; ++j) amax = max(abs(load(work.raw[j])), amax);
  float units[kLanes];
  store(units, amax);
  bool any = false;
  for (float& unit : units) {
    const bool divide = unit != 0.0f && (blocks.to_unit || unit < 1e-6f);
    if (!divide) unit = 1.0f;
    any = any || unit != 1.0f;
  }
  work.unit = load(units);
  return any;
}

template <std::uint64_t kGroup>
inline void load_blocks(const Q4Blocks& blocks, Q4Work<kGroup>& work) {
  transpose<kGroup>(blocks.x, work.raw);
  const bool divided = find_units(blocks, work);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    work.x[j] = load(work.raw[j]);
    if (divided) work.x[j] = div(work.x[j], work.unit);
  }
  work.largest = work.x[0];
  for (std::uint64_t j = 1; j < kGroup; ++j) {
    work.largest = select_less(abs(work.largest), abs(work.x[j]), work.x[j], work.largest);
  }
  if (blocks.channels[0] == nullptr) {
    for (std::uint64_t j = 0; j < kGroup; ++j) work.w[j] = mul(work.x[j], work.x[j]);
    return;
  }
  float squares[kLanes];
  float units[kLanes];
  store(units, work.unit);
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    const float root = __builtin_sqrtf(blocks.mean_square[lane]) / units[lane];
    squares[lane] = units[lane] == 1.0f ? blocks.mean_square[lane] : root * root;
  }
  float channels[kGroup][kLanes];
  transpose<kGroup>(blocks.channels, channels);
  const Floats mean_square = load(squares);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    work.w[j] = mul(load(channels[j]), sqrt(add(mean_square, mul(work.x[j], work.x[j]))));
  }
}

// Nearest integer in -8 .. 7, half away from zero: adding the float just below 0.5 before cutting off is
// exact for magnitudes this small.
inline Floats level_of(Floats t) {
  const Floats limited = max(min(t, set1(7.0f)), set1(-8.0f));
  return trunc(add(limited, copysign(set1(0x1.fffffep-2f), limited)));
}

// 0 where the denominator is.
inline Floats quotient(Floats numerator, Floats denominator) {
  const Floats zero = set1(0.0f);
  return select_less(zero, abs(denominator), div(numerator, denominator), zero);
}

struct Q4Fit {
  Floats inverse;
  Floats d;
  Floats error;
};

template <std::uint64_t kGroup>
inline Q4Fit try_level(const Q4Work<kGroup>& work, float level) {
  Floats levels[kGroup];
  Q4Fit fit;
  fit.inverse = quotient(set1(level), work.largest);
  Floats numerator = set1(0.0f);
  Floats denominator = set1(0.0f);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    levels[j] = level_of(mul(work.x[j], fit.inverse));
    const Floats weighted = mul(work.w[j], levels[j]);
    numerator = add(numerator, mul(weighted, work.x[j]));
    denominator = add(denominator, mul(weighted, levels[j]));
  }
  // NaN, of sums that overflow, stays NaN.
  fit.d = select_nan(denominator, denominator, quotient(numerator, denominator));
  fit.error = set1(0.0f);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    const Floats r = sub(work.x[j], mul(fit.d, levels[j]));
    fit.error = add(fit.error, mul(work.w[j], mul(r, r)));
  }
  return fit;
}

template <std::uint64_t kGroup>
inline Q4Fit search_levels(const Q4Work<kGroup>& work) {
  Q4Fit best = try_level(work, -6.0f);
  for (int k = 1; k < 13; ++k) {
    const Q4Fit fit = try_level(work, static_cast<float>(-6.0 - 0.2 * k));
    best.inverse = select_less(fit.error, best.error, fit.inverse, best.inverse);
    best.d = select_less(fit.error, best.error, fit.d, best.d);
    best.error = select_less(fit.error, best.error, fit.error, best.error);
  }
  return best;
}

// Bytes of nibbles, byte j of every lane's block first, into the order of the blocks.
template <std::uint64_t kGroup>
inline void store_levels(const Floats* levels, Q4Blocks& blocks) {
  unsigned char bytes[kGroup / 2][kLanes];
  for (std::uint64_t j = 0; j < kGroup / 2; ++j) {
    const Ints eight = set1(8);
    store_nibbles(bytes[j], add(truncate(levels[j]), eight), add(truncate(levels[j + kGroup / 2]), eight));
  }
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    for (std::uint64_t j = 0; j < kGroup / 2; ++j) blocks.quants[lane * (kGroup / 2) + j] = bytes[j][lane];
  }
}

template <std::uint64_t kGroup>
void search_q4_0(Q4Blocks& blocks) {
  Q4Work<kGroup> work;
  load_blocks(blocks, work);
  const Q4Fit best = search_levels(work);
  Floats levels[kGroup];
  for (std::uint64_t j = 0; j < kGroup; ++j) levels[j] = level_of(mul(work.x[j], best.inverse));
  store(blocks.d, mul(best.d, work.unit));
  store(blocks.error, best.error);
  store_levels<kGroup>(levels, blocks);
}

// The least-squares scale of the levels that an inverse scale gives, and how much of sum(w x^2) it explains.
struct Q4Score {
  Floats d;
  Floats gain;
};

template <std::uint64_t kGroup>
inline Q4Score score_inverse(const Q4Work<kGroup>& work, Floats inverse) {
  Floats numerator = set1(0.0f);
  Floats denominator = set1(0.0f);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    const Floats level = level_of(mul(work.x[j], inverse));
    const Floats weighted = mul(work.w[j], level);
    numerator = fma(weighted, work.x[j], numerator);
    denominator = fma(weighted, level, denominator);
  }
  const Floats d = quotient(numerator, denominator);
  return {d, mul(numerator, d)};
}

inline void keep_better(const Q4Score& score, Q4Score& best) {
  const Floats gain = best.gain;
  best.d = select_less(gain, score.gain, score.d, best.d);
  best.gain = select_less(gain, score.gain, score.gain, gain);
}

// Weighted squared error in double, of scales as they are stored.
template <std::uint64_t kGroup>
inline Doubles exact_error(const Q4Work<kGroup>& work, Floats d, const Floats* levels) {
  const Doubles scale = widen(d);
  Doubles error = widen(set1(0.0f));
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    const Doubles r = sub(widen(load(work.raw[j])), mul(scale, widen(levels[j])));
    error = add(error, mul(widen(work.w[j]), mul(r, r)));
  }
  return error;
}

void refine_q4_0(Q4Blocks& blocks) {
  constexpr std::uint64_t kGroup = kBlockWeights;
  constexpr int kRounds = 4;
  Q4Work<kGroup> work;
  load_blocks(blocks, work);
  const Q4Fit searched = search_levels(work);
  const Floats zero = set1(0.0f);
  Q4Score best{searched.d, zero};
  keep_better(score_inverse(work, searched.inverse), best);
  for (int step = 0; step < 48; ++step) {
    // 4 to 9.75 by quarters, then 10 to 21.5 by halves, each for the largest element below and above zero.
    const float level =
        step < 24 ? 4.0f + 0.25f * static_cast<float>(step) : 0.5f * static_cast<float>(step - 4);
    const Floats inverse = quotient(set1(level), work.largest);
    keep_better(score_inverse(work, inverse), best);
    keep_better(score_inverse(work, sub(zero, inverse)), best);
  }
  for (int round = 0; round < kRounds; ++round) {
    keep_better(score_inverse(work, quotient(set1(1.0f), best.d)), best);
  }

  const auto stored = [&](Floats d) {
    const Floats scaled = mul(d, work.unit);
    return blocks.f16 ? round_f16(scaled) : scaled;
  };
  Floats levels[kGroup];
  Floats new_levels[kGroup];
  const Floats d = stored(searched.d);
  const Floats new_d = stored(best.d);
  const Floats new_inverse = quotient(work.unit, new_d);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    levels[j] = level_of(mul(work.x[j], searched.inverse));
    new_levels[j] = level_of(mul(work.x[j], new_inverse));
  }
  double error[kLanes];
  double new_error[kLanes];
  store(error, exact_error(work, d, levels));
  store(new_error, exact_error(work, new_d, new_levels));
  // A gain within the rounding of the weights is none.
  float better[kLanes];
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    better[lane] = new_error[lane] < error[lane] * (1.0 - 0x1p-18) ? -1.0f : 1.0f;
  }
  const Floats chosen = load(better);
  for (std::uint64_t j = 0; j < kGroup; ++j) {
    levels[j] = select_less(chosen, zero, new_levels[j], levels[j]);
  }
  store(blocks.d, select_less(chosen, zero, new_d, d));
  store(blocks.error, searched.error);
  store_levels<kGroup>(levels, blocks);
}

}  // namespace
}  // namespace ml::kernels
