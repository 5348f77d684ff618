#pragma once

#include <cstddef>
#include <string>

namespace cli {

/// How a number of things, from 0 on, are spread over the columns of a line: each takes some columns, or
/// neighbours share one.
class LineScale {
 public:
  /// @param n  at least 1  @param columns  at least 1  @param most  columns that one takes at most
  LineScale(std::size_t n, std::size_t columns, std::size_t most = 4);

  std::size_t n_cells() const { return n_cells_; }
  /// Columns of a cell.
  std::size_t cell_width() const { return cell_width_; }
  /// The first thing of a cell; the last one's end is that of cell n_cells().
  std::size_t first(std::size_t cell) const { return cell * n_ / n_cells_; }
  /// Numbers over their cells, as many as leave room between them.
  std::string ruler() const;

 private:
  std::size_t n_;
  std::size_t n_cells_;
  std::size_t cell_width_;
};

}  // namespace cli
