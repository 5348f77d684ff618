#pragma once

#include <ml/encoding.hpp>

#include "kernels/table.hpp"

#include <algorithm>

namespace ml {

/// Whose kernels multiply the rows of an encoding: its own, or, for those that the targets have none for,
/// those of Q8_0 (integers in groups) or float32 (affine codes, seeds) after expand_rows().
Encoding kernel_encoding(Encoding encoding);

/// Rows at a time that expand_rows() makes room for.
inline constexpr std::uint64_t kExpandedRows = 8;

/// Rows [row, row + n_rows) of such a matrix as kernel_encoding() says, in memory that the next call on this
/// thread overwrites. Exact: integers stay, each block of 32 has its group's scale, in float32; what becomes
/// floats is what products use (decode_row_unrounded(), but BF16 values for q8g64).
///
/// @param n_rows  at most kExpandedRows
kernels::WeightMatrix expand_rows(const TensorView& view, std::uint64_t row, std::uint64_t n_rows);

/// Calls multiply(matrix, n_rows, first_row) for rows [begin, end), expanded a few at a time.
template <class Multiply>
void for_expanded_rows(const TensorView& view, std::uint64_t begin, std::uint64_t end, Multiply multiply) {
  for (std::uint64_t row = begin; row < end; row += kExpandedRows) {
    const std::uint64_t n_rows = std::min(end - row, kExpandedRows);
    multiply(expand_rows(view, row, n_rows), n_rows, row);
  }
}

}  // namespace ml
