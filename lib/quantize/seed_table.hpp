#pragma once

// What the seed search knows of every seed before it sees a weight: for one column group, or, without
// importance, for all of them.

#include "kernels/seed_search.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ml {

class SeedTables {
 public:
  /// @param n_coefs  P: 3 or 4
  /// @param scales   of the 8 columns, > 0
  SeedTables(unsigned n_coefs, std::span<const float> scales);
  SeedTables(const SeedTables&) = delete;
  SeedTables& operator=(const SeedTables&) = delete;

  /// The tables for scales of 1, made once in a process.
  static const SeedTables& plain(unsigned n_coefs);

  const kernels::SeedTable& table() const { return table_; }
  /// The seed of each position, and the position of each seed (of 1 .. 65535).
  const std::uint16_t* seeds() const;
  std::uint32_t position(std::uint16_t seed) const;

  /// Seeds that the bound says nothing of: tried on every block.
  std::span<const std::uint16_t> hard() const { return hard_; }
  /// All seeds that can win.
  std::span<const std::uint16_t> all() const { return all_; }
  /// The lowest seed that is not hard: where every coefficient is 0 it stands for all of them. Or none.
  std::span<const std::uint16_t> first_easy() const { return {&first_easy_, has_easy_ ? 1u : 0u}; }
  /// Over the seeds that are not hard: no coefficient of a fit is larger than this times |x|.
  float largest_fit() const { return largest_fit_; }

 private:
  template <unsigned kP>
  void add_seed(std::uint32_t position);

  kernels::SeedTable table_;
  std::vector<float> exact_;
  std::vector<float> bounds_;
  std::vector<std::uint16_t> hard_;
  std::vector<std::uint16_t> all_;
  bool has_easy_ = false;
  std::uint16_t first_easy_ = 0;
  float largest_fit_ = 0;
};

}  // namespace ml
