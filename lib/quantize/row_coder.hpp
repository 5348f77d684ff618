#pragma once

// One row of a tensor at a time: source encoding in, .mlb encoding out, and how far they are apart.

#include <ml/quantize.hpp>

#include "quantize/row_source.hpp"

#include <vector>

namespace ml {

/// Sums over the weights of rows, in double.
struct SquareSums {
  double error = 0;   ///< (source - written)^2
  double source = 0;  ///< source^2

  void add(const SquareSums& other) {
    error += other.error;
    source += other.source;
  }
};

class RowCoder {
 public:
  /// @param array  how the row is to be written
  RowCoder(const RowSource& source, const MlbArray& array, const QuantizeOptions& options);

  /// Bytes of a row: quants (or floats), and scales.
  std::uint64_t row_bytes() const { return row_bytes_; }
  std::uint64_t row_scale_bytes() const { return row_scale_bytes_; }

  /// Writes row `row` to `data` and `scales`.
  ///
  /// @param scratch  2 x cols floats
  /// @error format   NaN or infinity; names the source's row and column, not the tensor
  /// @error limit    a scale overflows f16; names the source's row and the block
  Result<SquareSums> encode(std::uint64_t row, std::span<float> scratch, std::byte* data,
                            std::byte* scales) const;

 private:
  Result<SquareSums> copy(std::uint64_t row, std::span<float> scratch, std::byte* data,
                          std::byte* scales) const;
  SquareSums measure(std::span<const float> x, std::span<float> y, const std::byte* data,
                     const std::byte* scales) const;
  Error non_finite(std::uint64_t row, std::span<const float> x) const;

  const RowSource& source_;
  const MlbArray& array_;
  Q4Rule q4_rule_;
  bool copied_;
  std::uint64_t row_bytes_;
  std::uint64_t row_scale_bytes_;
};

}  // namespace ml
