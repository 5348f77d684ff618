#pragma once

#include <ml/encoding.hpp>
#include <ml/target.hpp>

#include "kernels/targets.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

/// Deterministic random data for kernels: the same on every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  float uniform() { return static_cast<float>(bits() >> 8) * 0x1p-23f - 1.0f; }

 private:
  std::mt19937 engine_;
};

/// Bit equality, so that a NaN equals itself and -0 differs from 0.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct StoredAs {
  ml::Encoding encoding;
  ml::ScaleType scales;
};

/// Every encoding, with every type of scales.
std::vector<StoredAs> all_encodings();

/// A random weight matrix in any encoding, at an odd address, ending exactly where its buffer ends.
struct TestMatrix {
  static constexpr std::uint64_t kSliceRows = 5;  ///< rows that share an exponent bias

  TestMatrix(Random& random, ml::Encoding encoding, ml::ScaleType scales, std::uint64_t rows,
             std::uint64_t cols, bool extreme = false);
  ml::kernels::WeightMatrix matrix() const;

  ml::TensorView view;
  std::vector<std::byte> data;
  std::vector<std::byte> scale_bytes;
  std::vector<std::byte> biases;
  std::vector<std::byte> seeds;

 private:
  void fill_other(Random& random, bool extreme);
};

/// Scratch for a product of so many columns; the next call takes it again.
unsigned char* panel_scratch(std::uint64_t cols);

/// The targets that this machine runs, scalar left out.
inline std::vector<ml::Target> fast_targets() {
  std::vector<ml::Target> targets = ml::available_targets();
  targets.erase(targets.begin());
  return targets;
}
