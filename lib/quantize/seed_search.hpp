#pragma once

// The search of a seed and coefficients for blocks of 8 weights (nanoseedlm(5), SEED SEARCH), by bounds: what
// it finds is what trying every seed finds, to the bit.
//
// For a seed with basis U no coefficients, quantized or not, leave a smaller error than the least-squares
// fit: |x|^2 - b^T G^-1 b with b = U^T x, G = U^T U. G depends on the seed alone, so the fit of one block
// costs a few products: b of successive seeds of the register's cycle is a window that moves by one over a
// convolution of the cycle with x. A seed is tried exactly only where its fit, less what the float32
// arithmetic of the search can be off by (seed_table.cpp), is not above the best error so far. A seed that is
// passed over cannot win, nor tie: its error in the search's own arithmetic is above one that was found. Ties
// go to the lowest seed whatever the order of trying, as kernels::SeedTry compares seeds as well. Seeds whose
// G is nearly singular, where the arithmetic may be off by anything, are tried always; so are all seeds for
// blocks near the ends of float32's range.

#include "kernels/table.hpp"
#include "quantize/seed_table.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace ml {

/// What is stored of a block.
struct SeedBlockFit {
  std::uint16_t seed = 1;
  std::uint8_t code = 0;  ///< exponent - bias
  std::array<std::int8_t, 4> q = {};
  float error = 0;  ///< sum over the columns of (x - scale * weight)^2, as the search sums it
};

class SeedSearch {
 public:
  /// Blocks that find() works on at once with the best use of a processor's caches.
  static constexpr std::size_t kBlocks = 64;

  /// @param bias  of the slice: exponents are bias .. bias + 15
  SeedSearch(unsigned n_coefs, const SeedTables& tables, const kernels::Table& kernels, std::int32_t bias)
      : n_coefs_(n_coefs), tables_(tables), kernels_(kernels), bias_(bias) {}

  /// @param x     at most kBlocks blocks of 8: weights times the tables' scales, rounded
  /// @param fits  one a block
  void find(std::span<const float> x, SeedBlockFit* fits) const;

  /// The same by trying every seed on every block: what find() must equal.
  void find_by_trying_all(std::span<const float> x, SeedBlockFit* fits) const;

 private:
  template <unsigned kP>
  SeedBlockFit refit(const float* x, std::uint16_t seed, std::int32_t exponent) const;
  void finish(std::span<const float> x, std::span<const kernels::SeedBlocks> groups,
              SeedBlockFit* fits) const;
  void try_seeds(std::span<const std::uint16_t> positions, kernels::SeedBlocks& blocks) const;
  bool scan_applies(kernels::SeedBlocks& blocks) const;

  unsigned n_coefs_;
  const SeedTables& tables_;
  const kernels::Table& kernels_;
  std::int32_t bias_;
};

/// Exponent bias of a slice: the exponent of its largest block, less 14. From the weights without importance.
class SeedBias {
 public:
  /// Takes a row, whole blocks. @return false for a block whose squared norm is over float32
  bool add(std::span<const float> weights);
  std::int32_t get() const { return top_ - 14; }

 private:
  std::int32_t top_ = -1000;
};

}  // namespace ml
