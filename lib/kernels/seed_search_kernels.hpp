#pragma once

// The kernels of the seed search, once for all targets: in pieces of as many lanes as the target's vectors
// hold.

#include "kernels/seed_fit.hpp"
#include "kernels/seed_search.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace ml::kernels {
namespace {

#if defined(__AVX512F__)
inline constexpr std::uint32_t kPiece = 16;
#elif defined(__AVX2__)
inline constexpr std::uint32_t kPiece = 8;
#else
inline constexpr std::uint32_t kPiece = 4;
#endif

using PieceF = float __attribute__((vector_size(4 * kPiece)));
using PieceI = std::int32_t __attribute__((vector_size(4 * kPiece)));

inline PieceF piece_at(const float* p) {
  PieceF v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline PieceI piece_at(const std::int32_t* p) {
  PieceI v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void put_piece(float* p, PieceF v) { __builtin_memcpy(p, &v, sizeof v); }
inline void put_piece(std::int32_t* p, PieceI v) { __builtin_memcpy(p, &v, sizeof v); }
inline PieceF all_lanes(float value) { return value - PieceF{}; }

// a * b + c as the target does it fastest: for the bound only.
inline PieceF about(PieceF a, PieceF b, PieceF c) {
#if defined(__AVX512F__)
  return reinterpret_cast<PieceF>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__AVX2__)
  return reinterpret_cast<PieceF>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#elif defined(__aarch64__)
  return reinterpret_cast<PieceF>(vfmaq_f32(
      reinterpret_cast<float32x4_t>(c), reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a * b + c;
#endif
}

// True where a lane of a is not below b.
inline bool any_reaches(PieceF a, PieceF b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), _CMP_NLT_UQ) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(
             _mm256_cmp_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), _CMP_NLT_UQ)) != 0;
#elif defined(__aarch64__)
  return vminvq_u32(reinterpret_cast<uint32x4_t>(a < b)) == 0;
#else
  const PieceI below = a < b;
  std::int32_t all = -1;
  for (std::uint32_t i = 0; i < kPiece; ++i) all &= below[i];
  return all == 0;
#endif
}

inline PieceF magnitude(PieceF x) {
  return reinterpret_cast<PieceF>(reinterpret_cast<PieceI>(x) & 0x7fffffff);
}
inline PieceF larger(PieceF a, PieceF b) { return a > b ? a : b; }
inline PieceI clamp_piece(PieceI x, std::int32_t low, std::int32_t high) {
  const PieceI lows = low - PieceI{};
  const PieceI highs = high - PieceI{};
  x = x < lows ? lows : x;
  return x > highs ? highs : x;
}
// 2^e for e in float32's normal range.
inline PieceF power_of_two(PieceI e) { return reinterpret_cast<PieceF>((e + 127) << 23); }

template <std::uint32_t kP>
inline void try_seed(const SeedTable& table, std::uint32_t position, std::int32_t seed, std::int32_t low,
                     std::uint32_t lane, SeedBlocks& blocks) {
  const float* states = table.states + position + 1;
  PieceF b[kP] = {};
  for (std::uint32_t c = 0; c < kSeedWeights; ++c) {
    const PieceF x = piece_at(blocks.x[c] + lane);
    for (std::uint32_t p = 0; p < kP; ++p) b[p] = b[p] + states[kP * c + p] * table.scale[c] * x;
  }
  const float* exact = table.exact + std::uint64_t{position} * kSeedExact;
  PieceF t[kP];
  SeedFit<kP, PieceF>::solve(exact, b, t);
  PieceF top = magnitude(t[0]);
  for (std::uint32_t p = 1; p < kP; ++p) top = larger(top, magnitude(t[p]));

  const PieceF norm = piece_at(blocks.norm + lane);
  PieceF best = piece_at(blocks.error + lane);
  PieceI best_seed = piece_at(blocks.seed + lane);
  PieceI best_exponent = piece_at(blocks.exponent + lane);
  const PieceI seeds = seed - PieceI{};
  const PieceI first = clamp_piece((reinterpret_cast<PieceI>(top) >> 23) - 129, low, low + 15);
  constexpr std::int32_t kSteps[] = {0, -1, 1};
  for (const std::int32_t step : kSteps) {
    const PieceI e = clamp_piece(first + step, low, low + 15);
    const PieceF inverse = power_of_two(-e);
    const PieceF scale = power_of_two(e);
    PieceF q[kP];
    for (std::uint32_t p = 0; p < kP; ++p) q[p] = round_coefficient(t[p] * inverse);
    PieceF qb = q[0] * b[0];
    for (std::uint32_t p = 1; p < kP; ++p) qb = qb + q[p] * b[p];
    const PieceF size = (scale * scale) * SeedFit<kP, PieceF>::square(exact, q);
    const PieceF error = (norm - (2.0f * scale) * qb) + size;
    // A candidate longer than 2 |x| cannot win but by rounding; it is refused.
    const PieceI better = ((error < best) | ((error == best) & (seeds < best_seed))) & ~(size > 4.0f * norm);
    best = better ? error : best;
    best_seed = better ? seeds : best_seed;
    best_exponent = better ? e : best_exponent;
  }
  put_piece(blocks.error + lane, best);
  put_piece(blocks.seed + lane, best_seed);
  put_piece(blocks.exponent + lane, best_exponent);
}

template <std::uint32_t kP>
void try_seeds(const SeedTable& table, const std::uint16_t* positions, std::uint32_t n,
               const std::uint16_t* seeds, std::int32_t low, SeedBlocks& blocks) {
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t position = positions[i];
    for (std::uint32_t lane = 0; lane < kSeedLanes; lane += kPiece)
      try_seed<kP>(table, position, seeds[position], low, lane, blocks);
  }
}

// b of position i is (f(i + 1) .. f(i + P)) with f(j) = sum over c of states[j + P c] taps[c]: each f serves
// P seeds. The explained share is the sum of squares of L^-1 b over D.
template <std::uint32_t kP>
std::uint32_t scan_seeds(const SeedTable& table, std::uint32_t begin, std::uint32_t end,
                         const SeedBlocks& blocks, std::uint16_t* found) {
  std::uint32_t n_found = 0;
  for (std::uint32_t lane = 0; lane < kSeedLanes; lane += kPiece) {
    PieceF taps[kSeedWeights];
    for (std::uint32_t c = 0; c < kSeedWeights; ++c) taps[c] = piece_at(blocks.taps[c] + lane);
    const PieceF need = piece_at(blocks.need + lane);
    const auto fold = [&](const float* states) {
      PieceF low = states[0] * taps[0];
      PieceF high = states[kP] * taps[1];
      for (std::uint32_t c = 2; c < kSeedWeights; c += 2) {
        low = about(all_lanes(states[kP * c]), taps[c], low);
        high = about(all_lanes(states[kP * (c + 1)]), taps[c + 1], high);
      }
      return low + high;
    };
    PieceF b[kP];
    for (std::uint32_t p = 1; p < kP; ++p) b[p] = fold(table.states + begin + p);
    std::uint32_t n = 0;
    std::uint16_t* list = found + n_found;
    for (std::uint32_t i = begin; i < end; ++i) {
      for (std::uint32_t p = 0; p + 1 < kP; ++p) b[p] = b[p + 1];
      b[kP - 1] = fold(table.states + i + kP);
      const float* bounds = table.bounds + std::uint64_t{i} * kSeedBounds;
      const float* below = bounds + 1 + kP;
      PieceF share = about(b[0] * b[0], all_lanes(bounds[1]), all_lanes(bounds[0]));
      for (std::uint32_t p = 1; p < kP; ++p) {
        PieceF z = b[p];
        for (std::uint32_t q = 0; q < p; ++q) z = about(all_lanes(*below++), b[q], z);
        share = about(z * z, all_lanes(bounds[1 + p]), share);
      }
      list[n] = static_cast<std::uint16_t>(i);
      n += any_reaches(share, need) ? 1 : 0;
    }
    n_found += n;
  }
  return n_found;
}

}  // namespace
}  // namespace ml::kernels
