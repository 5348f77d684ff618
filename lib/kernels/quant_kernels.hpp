#pragma once

// Encoding weights, written once over sixteen lanes. Include after a quant_lanes header.

#include "kernels/quant_table.hpp"

namespace ml::kernels {
namespace {

void widen_f16(const unsigned char* data, std::uint64_t n, float* out) {
  std::uint64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load_f16(data + 2 * i));
  if (i < n) store_n(out + i, load_f16_n(data + 2 * i, n - i), n - i);
}

void widen_bf16(const unsigned char* data, std::uint64_t n, float* out) {
  std::uint64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load_bf16(data + 2 * i));
  if (i < n) store_n(out + i, load_bf16_n(data + 2 * i, n - i), n - i);
}

void narrow_f16(const float* x, std::uint64_t n, std::uint16_t* out) {
  std::uint64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_f16_n(out + i, load(x + i), kLanes);
  if (i < n) store_f16_n(out + i, load_n(x + i, n - i), n - i);
}

inline Floats round_f16(Floats x) {
  std::uint16_t halves[kLanes];
  store_f16_n(halves, x, kLanes);
  return load_f16(reinterpret_cast<const unsigned char*>(halves));
}

// x - x is 0, or NaN where x is not finite.
bool all_finite(const float* x, std::uint64_t n) {
  Floats sum = set1(0.0f);
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const Floats v = load(x + i);
    sum = add(sum, sub(v, v));
  }
  return fold_add(sum) == 0.0f;
}

void encode_q8_0(const float* x, std::uint64_t n_blocks, bool f16, std::int8_t* quants, float* d) {
  for (std::uint64_t b = 0; b < n_blocks; ++b, x += kBlockWeights, quants += kBlockWeights) {
    const Floats low = load(x);
    const Floats high = load(x + kLanes);
    const float amax = fold_max(max(abs(low), abs(high)));
    const bool zero = amax < 1e-30f;  // 127 / amax could overflow
    float scale = zero ? 0.0f : amax / 127.0f;
    float inverse = zero ? 0.0f : 127.0f / amax;
    if (f16) {
      std::uint16_t half;
      store_f16_n(&half, set1(scale), 1);
      scale = fold_max(load_f16_n(reinterpret_cast<const unsigned char*>(&half), 1));
      inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
    }
    d[b] = scale;
    const Floats factor = set1(inverse);
    const auto quantize = [&](Floats v) {
      const Floats rounded = add(mul(v, factor), copysign(set1(0.5f), v));
      return truncate(max(min(rounded, set1(127.0f)), set1(-127.0f)));
    };
    store_i8(quants, quantize(low));
    store_i8(quants + kLanes, quantize(high));
  }
}

// Sixteen bytes from nibbles 0 .. 15.
inline void store_nibbles(unsigned char* out, Ints low, Ints high) {
  const Ints packed = add(low, shift_left<4>(high));
  store_i8(reinterpret_cast<std::int8_t*>(out), shift_right<24>(shift_left<24>(packed)));
}

void encode_q4_0_round(const float* x, std::uint64_t n_blocks, unsigned char* quants, float* d) {
  for (std::uint64_t b = 0; b < n_blocks; ++b, x += kBlockWeights, quants += kBlockWeights / 2) {
    const Floats low = load(x);
    const Floats high = load(x + kLanes);
    const float most = fold_max(max(low, high));
    const float least = -fold_max(max(sub(set1(0.0f), low), sub(set1(0.0f), high)));
    float m = most > -least ? most : least;
    if (most == -least) {  // the first one of both signs, also among zeros
      std::uint64_t j = 0;
      while (x[j] != most && x[j] != least) ++j;
      m = x[j];
    }
    d[b] = m / -8.0f;
    const float reciprocal = 1.0f / d[b];
    const Floats inverse = set1(__builtin_isfinite(reciprocal) ? reciprocal : 0.0f);
    const auto nibbles = [&](Floats v) {
      return truncate(min(add(mul(v, inverse), set1(8.5f)), set1(15.0f)));
    };
    store_nibbles(quants, nibbles(low), nibbles(high));
  }
}

inline void add_squares(Floats x, Floats y, Doubles& error, Doubles& source) {
  const Doubles wide = widen(x);
  const Doubles r = sub(wide, widen(y));
  error = add(error, mul(r, r));
  source = add(source, mul(wide, wide));
}

// weights(b, low, high): the two halves of block b before they are scaled.
template <class Weights>
inline void measure(const float* x, std::uint64_t n_blocks, const float* d, ErrorSums& sums,
                    Weights weights) {
  Doubles error = load(sums.error);
  Doubles source = load(sums.source);
  for (std::uint64_t b = 0; b < n_blocks; ++b, x += kBlockWeights) {
    Floats low, high;
    weights(b, low, high);
    const Floats scale = set1(d[b]);
    add_squares(load(x), mul(low, scale), error, source);
    add_squares(load(x + kLanes), mul(high, scale), error, source);
  }
  store(sums.error, error);
  store(sums.source, source);
}

void measure_q8_0(const float* x, std::uint64_t n_blocks, const std::int8_t* quants, const float* d,
                  ErrorSums& sums) {
  measure(x, n_blocks, d, sums, [&](std::uint64_t b, Floats& low, Floats& high) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(quants) + b * kBlockWeights;
    low = load_i8(bytes);
    high = load_i8(bytes + kLanes);
  });
}

void measure_q4_0(const float* x, std::uint64_t n_blocks, const unsigned char* quants, const float* d,
                  ErrorSums& sums) {
  measure(x, n_blocks, d, sums, [&](std::uint64_t b, Floats& low, Floats& high) {
    low = load_low_nibbles(quants + b * (kBlockWeights / 2));
    high = load_high_nibbles(quants + b * (kBlockWeights / 2));
  });
}

}  // namespace
}  // namespace ml::kernels
