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

// Rows of a cache: load(row, d, n) gives elements d .. d + n - 1 of a row, n <= 16, and zeros.
struct CacheF32 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return 4 * head_dim; }
  static Floats load(const unsigned char* row, std::uint64_t, std::uint64_t d, std::uint64_t n) {
    return load_n(reinterpret_cast<const float*>(row) + d, n);
  }
};
struct CacheF16 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return 2 * head_dim; }
  static Floats load(const unsigned char* row, std::uint64_t, std::uint64_t d, std::uint64_t n) {
    return load_f16_n(row + 2 * d, n);
  }
};
struct CacheQ8 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return q8_row_bytes(head_dim); }
  static Floats load(const unsigned char* row, std::uint64_t head_dim, std::uint64_t d, std::uint64_t) {
    const unsigned char* scales = row + q8_row_blocks(head_dim) * kBlockWeights;
    return mul(load_i8(row + d), broadcast_f32(scales + d / kBlockWeights * 4));  // padding quants are zero
  }
};

template <class Cache>
void attend(const AttentionArgs& args) {
  const std::uint64_t head_dim = args.head_dim;
  const std::uint64_t row_bytes = Cache::row_bytes(head_dim);
  const float minus_infinity = -__builtin_inff();
  float maximum = minus_infinity;
  float sum = 0.0f;
  for (std::uint64_t d = 0; d < head_dim; d += kLanes) {
    store_n(args.out + d, set1(0.0f), lanes_left(head_dim, d));
  }

  for (std::uint64_t block = args.first / kKeyBlock * kKeyBlock; block <= args.last; block += kKeyBlock) {
    const std::uint64_t begin = args.first > block ? args.first - block : 0;
    const std::uint64_t end = args.last - block < kKeyBlock ? args.last - block + 1 : kKeyBlock;
    const std::uint64_t ring_offset = block % args.capacity * row_bytes;
    const unsigned char* keys = static_cast<const unsigned char*>(args.keys) + ring_offset;
    const unsigned char* values = static_cast<const unsigned char*>(args.values) + ring_offset;
    float scores[kKeyBlock] = {};
    for (std::uint64_t j = begin; j < end; ++j) {
      const unsigned char* key = keys + j * row_bytes;
      Floats dot = set1(0.0f);
      for (std::uint64_t d = 0; d < head_dim; d += kLanes) {
        dot = fma(load(args.query + d), Cache::load(key, head_dim, d, lanes_left(head_dim, d)), dot);
      }
      scores[j] = fold_add(dot) * args.scale;
    }
    if (args.softcap != 0.0f) softcap(scores, kKeyBlock, args.softcap);
    for (std::uint64_t j = 0; j < kKeyBlock; ++j) {
      if (j < begin || j >= end) scores[j] = minus_infinity;
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
    for (std::uint64_t d = 0; d < head_dim; d += kLanes) {
      const std::uint64_t left = lanes_left(head_dim, d);
      Floats out = mul(load_n(args.out + d, left), set1(rescale[0]));
      for (std::uint64_t j = begin; j < end; ++j) {
        out = fma(set1(scores[j]), Cache::load(values + j * row_bytes, head_dim, d, left), out);
      }
      store_n(args.out + d, out, left);
    }
  }
  const Floats inverse = set1(1.0f / sum);
  for (std::uint64_t d = 0; d < head_dim; d += kLanes) {
    const std::uint64_t left = lanes_left(head_dim, d);
    store_n(args.out + d, mul(load_n(args.out + d, left), inverse), left);
  }
}

}  // namespace
}  // namespace ml::kernels
