#include "common/line_scale.hpp"

#include <algorithm>

namespace cli {

LineScale::LineScale(std::size_t n, std::size_t columns, std::size_t most)
    : n_(n),
      n_cells_(std::min(n, columns)),
      cell_width_(std::clamp<std::size_t>(columns / n_cells_, 1, most)) {}

std::string LineScale::ruler() const {
  // Where every column has a number, few of them are easier to read.
  const std::size_t n_blanks = cell_width_ > 1 ? 1 : 3;
  std::string line;
  for (std::size_t cell = 0; cell < n_cells_; ++cell) {
    const std::string number = std::to_string(first(cell));
    const std::size_t at = cell * cell_width_;
    if (at + number.size() > n_cells_ * cell_width_ || (at > 0 && line.size() + n_blanks > at)) continue;
    line += std::string(at - line.size(), ' ') + number;
  }
  return line;
}

}  // namespace cli
