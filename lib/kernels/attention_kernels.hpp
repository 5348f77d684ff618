#pragma once

// Attention of one query head, written once over sixteen lanes (ml-numerics(7), rule 6). Include after a
// lanes header.
//
// Keys come in blocks of 64 aligned to absolute positions. For each block: scores, the new maximum m, the
// weights e^(score - m), and sum and output rescaled by e^(old m - m). Keys outside [first, last] weigh
// e^-infinity = 0.

#include "kernels/exp_lanes.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

struct CacheF32 {
  static constexpr std::uint64_t kBytes = 4;
  static Floats load_n(const unsigned char* p, std::uint64_t n) {
    return kernels::load_n(reinterpret_cast<const float*>(p), n);
  }
};
struct CacheF16 {
  static constexpr std::uint64_t kBytes = 2;
  static Floats load_n(const unsigned char* p, std::uint64_t n) { return load_f16_n(p, n); }
};

template <class Cache>
void attend(const AttentionArgs& args) {
  const auto* keys = static_cast<const unsigned char*>(args.keys);
  const auto* values = static_cast<const unsigned char*>(args.values);
  const std::uint64_t row_bytes = args.head_dim * Cache::kBytes;
  const float minus_infinity = -__builtin_inff();
  float maximum = minus_infinity;
  float sum = 0.0f;
  for (std::uint64_t d = 0; d < args.head_dim; d += kLanes) {
    store_n(args.out + d, set1(0.0f), lanes_left(args.head_dim, d));
  }

  for (std::uint64_t block = args.first / kKeyBlock * kKeyBlock; block <= args.last; block += kKeyBlock) {
    const std::uint64_t begin = args.first > block ? args.first - block : 0;
    const std::uint64_t end = args.last - block < kKeyBlock ? args.last - block + 1 : kKeyBlock;
    float scores[kKeyBlock];
    for (auto& score : scores) score = minus_infinity;
    for (std::uint64_t j = begin; j < end; ++j) {
      const unsigned char* key = keys + (block + j) * row_bytes;
      Floats dot = set1(0.0f);
      for (std::uint64_t d = 0; d < args.head_dim; d += kLanes) {
        dot = fma(load(args.query + d), Cache::load_n(key + d * Cache::kBytes, lanes_left(args.head_dim, d)),
                  dot);
      }
      scores[j] = fold_add(dot) * args.scale;
    }
    Floats largest = set1(maximum);
    for (std::uint64_t j = 0; j < kKeyBlock; j += kLanes) largest = max(load(scores + j), largest);
    const float new_maximum = fold_max(largest);
    float rescale[kLanes];
    store(rescale, exp_lanes(set1(maximum - new_maximum)));
    Floats block_sum = set1(0.0f);
    for (std::uint64_t j = 0; j < kKeyBlock; j += kLanes) {
      const Floats weights = exp_lanes(sub(load(scores + j), set1(new_maximum)));
      store(scores + j, weights);
      block_sum = add(block_sum, weights);
    }
    sum = sum * rescale[0] + fold_add(block_sum);
    maximum = new_maximum;
    for (std::uint64_t d = 0; d < args.head_dim; d += kLanes) {
      const std::uint64_t left = lanes_left(args.head_dim, d);
      Floats out = mul(load_n(args.out + d, left), set1(rescale[0]));
      for (std::uint64_t j = begin; j < end; ++j) {
        const unsigned char* value = values + (block + j) * row_bytes + d * Cache::kBytes;
        out = fma(set1(scores[j]), Cache::load_n(value, left), out);
      }
      store_n(args.out + d, out, left);
    }
  }
  const Floats inverse = set1(1.0f / sum);
  for (std::uint64_t d = 0; d < args.head_dim; d += kLanes) {
    const std::uint64_t left = lanes_left(args.head_dim, d);
    store_n(args.out + d, mul(load_n(args.out + d, left), inverse), left);
  }
}

}  // namespace
}  // namespace ml::kernels
