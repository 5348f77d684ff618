#pragma once

// A few rows of a tensor at a time: source encoding in, .mlb encoding out, and how far they are apart.

#include <ml/quantize.hpp>

#include "kernels/quant_table.hpp"
#include "quantize/row_source.hpp"

#include <vector>

namespace ml {

/// Sums over the weights of rows, in double.
struct SquareSums {
  double error = 0;   ///< (source - written)^2
  double source = 0;  ///< source^2; 0 where all rows are written exactly

  void add(const SquareSums& other) {
    error += other.error;
    source += other.source;
  }
};

class RowCoder {
 public:
  /// @param array       how the rows are to be written
  /// @param importance  of each column of a Q4_0 matrix; empty: none
  RowCoder(const RowSource& source, const MlbArray& array, Q4Rule rule, std::vector<float> importance,
           const kernels::QuantTable& table);

  /// Bytes of a row: quants (or floats), and scales.
  std::uint64_t row_bytes() const { return row_bytes_; }
  std::uint64_t row_scale_bytes() const { return row_scale_bytes_; }

  /// Memory of one thread.
  struct Scratch {
    std::vector<float> x;      // some rows
    std::vector<float> spare;  // one more
    std::vector<float> d;
    std::vector<float> mean_squares;
    std::vector<std::int8_t> quants;  // of a row that stays in another order
  };
  void reserve(Scratch& scratch) const;

  /// Writes rows [first, last) to `data` and `scales`.
  ///
  /// @error format   NaN or infinity; names the source's row and column, not the tensor
  /// @error limit    a scale overflows; names the source's row and the block
  Result<SquareSums> encode(std::uint64_t first, std::uint64_t last, Scratch& scratch, std::byte* data,
                            std::byte* scales) const;

 private:
  Result<void> encode_step(std::uint64_t row, std::uint64_t n_rows, Scratch& scratch, std::byte* data,
                           std::byte* scales, kernels::ErrorSums& sums) const;
  std::optional<std::uint64_t> encode_q4_0(std::span<const float> x, std::uint64_t n_rows, Scratch& scratch,
                                           std::byte* data, std::byte* scales) const;
  std::optional<std::uint64_t> copy_row(std::uint64_t from, std::int8_t* quants, std::byte* data,
                                        std::byte* scales, float* d) const;
  void measure(std::span<const float> x, float largest, const std::byte* data, const float* d,
               kernels::ErrorSums& sums) const;
  Error non_finite(std::uint64_t row, std::span<const float> x) const;
  std::uint64_t step_rows() const;

  const RowSource& source_;
  const MlbArray& array_;
  Q4Rule q4_rule_;
  std::vector<float> importance_;
  const kernels::QuantTable& table_;
  bool copied_;
  std::uint64_t row_blocks_;
  std::uint64_t row_bytes_;
  std::uint64_t row_scale_bytes_;
};

}  // namespace ml
