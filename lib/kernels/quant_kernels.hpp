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
float largest_magnitude(const float* x, std::uint64_t n) {
  Floats zero = set1(0.0f);
  Floats most = zero;
  for (std::uint64_t i = 0; i < n; i += kLanes) {
    const Floats v = load(x + i);
    zero = add(zero, sub(v, v));
    most = max(abs(v), most);
  }
  return fold_add(zero) == 0.0f ? fold_max(most) : __builtin_nanf("");
}

inline std::uint64_t blocks_left(std::uint64_t n_blocks, std::uint64_t b) {
  return n_blocks - b < kLanes ? n_blocks - b : kLanes;
}

// Sixteen blocks from block `first` on. Blocks of zeros stand for those after the last one.
template <std::uint64_t kGroup>
class Sixteen {
 public:
  Sixteen(const float* x, std::uint64_t n_blocks, std::uint64_t first)
      : n_(blocks_left(n_blocks, first)), blocks_(x + first * kGroup) {
    if (n_ == kLanes) return;
    for (std::uint64_t i = 0; i < kLanes * kGroup; ++i) padded_[i] = i < n_ * kGroup ? blocks_[i] : 0.0f;
    blocks_ = padded_;
  }

  std::uint64_t n() const { return n_; }
  const float* operator[](std::uint64_t b) const { return blocks_ + b * kGroup; }

  /// Lane b: the largest value(v) of block b.
  template <class Value>
  Floats largest(Value value) const {
    Floats most[kLanes];
    for (std::uint64_t b = 0; b < kLanes; ++b) {
      most[b] = value(load((*this)[b]));
      for (std::uint64_t j = kLanes; j < kGroup; j += kLanes)
        most[b] = max(value(load((*this)[b] + j)), most[b]);
    }
    return fold_max_each(most);
  }

 private:
  std::uint64_t n_;
  const float* blocks_;
  float padded_[kLanes * kGroup];
};

// Sixteen blocks at a time, so that their scales come of one division.
template <std::uint64_t kGroup>
void encode_q8_0(const float* x, std::uint64_t n_blocks, bool f16, std::int8_t* quants, float* d) {
  const Floats zero = set1(0.0f);
  const Floats smallest = set1(1e-30f);  // below it 127 / amax could overflow
  for (std::uint64_t first = 0; first < n_blocks; first += kLanes) {
    const Sixteen<kGroup> blocks(x, n_blocks, first);
    const Floats amax = blocks.largest([](Floats v) { return abs(v); });
    Floats scale = select_less(amax, smallest, zero, div(amax, set1(127.0f)));
    Floats inverse = select_less(amax, smallest, zero, div(set1(127.0f), amax));
    if (f16) {
      scale = round_f16(scale);
      inverse = select_less(zero, scale, div(set1(1.0f), scale), zero);
    }
    store_n(d + first, scale, blocks.n());
    float inverses[kLanes];
    store(inverses, inverse);
    for (std::uint64_t b = 0; b < blocks.n(); ++b) {
      const std::uint64_t begin = (first + b) * kGroup;
      const Floats factor = set1(inverses[b]);
      for (std::uint64_t j = begin; j < begin + kGroup; j += kLanes) {
        const Floats v = load(x + j);
        const Floats rounded = add(mul(v, factor), copysign(set1(0.5f), v));
        store_i8(quants + j, truncate(max(min(rounded, set1(127.0f)), set1(-127.0f))));
      }
    }
  }
}

// The element of largest magnitude of each block, the first one among equals.
template <std::uint64_t kGroup>
inline Floats largest_elements(const Sixteen<kGroup>& blocks) {
  const Floats zero = set1(0.0f);
  const Floats positive = blocks.largest([](Floats v) { return v; });
  const Floats negative = blocks.largest([zero](Floats v) { return sub(zero, v); });
  const Floats largest = select_less(negative, positive, positive, sub(zero, negative));
  if (!any_equal(positive, negative)) return largest;
  float most[kLanes], least[kLanes], chosen[kLanes];
  store(most, positive);
  store(least, negative);
  store(chosen, largest);
  for (std::uint64_t b = 0; b < kLanes; ++b) {
    if (most[b] != least[b]) continue;
    const float* x = blocks[b];  // both signs have it; also among zeros
    while (*x != most[b] && *x != -most[b]) ++x;
    chosen[b] = *x;
  }
  return load(chosen);
}

template <std::uint64_t kGroup>
void encode_q4_0_round(const float* x, std::uint64_t n_blocks, unsigned char* quants, float* d) {
  for (std::uint64_t first = 0; first < n_blocks; first += kLanes) {
    const Sixteen<kGroup> blocks(x, n_blocks, first);
    const Floats scale = div(largest_elements(blocks), set1(-8.0f));
    const Floats reciprocal = div(set1(1.0f), scale);
    store_n(d + first, scale, blocks.n());
    float inverses[kLanes];
    store(inverses, select_less(abs(reciprocal), set1(__builtin_inff()), reciprocal, set1(0.0f)));
    for (std::uint64_t b = 0; b < blocks.n(); ++b) {
      const Floats inverse = set1(inverses[b]);
      const auto nibbles = [&](const float* at) {
        return truncate(min(add(mul(load(at), inverse), set1(8.5f)), set1(15.0f)));
      };
      for (std::uint64_t j = 0; j < kGroup / 2; j += kLanes) {
        store_nibbles(quants + (first + b) * (kGroup / 2) + j, nibbles(blocks[b] + j),
                      nibbles(blocks[b] + kGroup / 2 + j));
      }
    }
  }
}

// weights(b, low, high): the two halves of block b before they are scaled. Sums of one call are float32, of
// values scaled to about 1.
template <class Weights>
inline void measure(const float* x, std::uint64_t n_blocks, const float* d, float unit, ErrorSums& sums,
                    Weights weights) {
  const Floats factor = set1(1.0f / unit);
  Floats error = set1(0.0f);
  Floats source = set1(0.0f);
  const auto add_half = [&](Floats v, Floats w, Floats scale) {
    const Floats r = mul(sub(v, mul(w, scale)), factor);
    const Floats scaled = mul(v, factor);
    error = fma(r, r, error);
    source = fma(scaled, scaled, source);
  };
  for (std::uint64_t b = 0; b < n_blocks; ++b, x += kBlockWeights) {
    Floats low, high;
    weights(b, low, high);
    add_half(load(x), low, set1(d[b]));
    add_half(load(x + kLanes), high, set1(d[b]));
  }
  const Doubles wide = widen(set1(unit));
  const Doubles square = mul(wide, wide);
  store(sums.error, add(load(sums.error), mul(widen(error), square)));
  store(sums.source, add(load(sums.source), mul(widen(source), square)));
}

void measure_q8_0(const float* x, std::uint64_t n_blocks, const std::int8_t* quants, const float* d,
                  float unit, ErrorSums& sums) {
  measure(x, n_blocks, d, unit, sums, [&](std::uint64_t b, Floats& low, Floats& high) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(quants) + b * kBlockWeights;
    low = load_i8(bytes);
    high = load_i8(bytes + kLanes);
  });
}

void measure_q4_0(const float* x, std::uint64_t n_blocks, const unsigned char* quants, const float* d,
                  float unit, ErrorSums& sums) {
  measure(x, n_blocks, d, unit, sums, [&](std::uint64_t b, Floats& low, Floats& high) {
    low = load_low_nibbles(quants + b * (kBlockWeights / 2));
    high = load_high_nibbles(quants + b * (kBlockWeights / 2));
  });
}

}  // namespace
}  // namespace ml::kernels
