// --map: which channels matter.

#include "imatrix_merge/map.hpp"

#include "common/line_scale.hpp"
#include "common/terminal.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace imatrix_merge {

namespace {

// Shades stand for powers of four around the mean of all channels.
constexpr int kLevels = 5;

std::string_view mark(int level, bool unicode) { return cli::shade((level + 0.5) / kLevels, unicode); }

int level_of(double importance) {
  int level = 0;
  for (double bound = 0.25; level + 1 < kLevels && importance >= bound; bound *= 4) ++level;
  return level;
}

std::string legend(bool unicode) {
  return fmt::format("{} below 1/4 of the mean  {} below it  {} below 4 times  {} below 16 times  {} above\n",
                     mark(0, unicode), mark(1, unicode), mark(2, unicode), mark(3, unicode),
                     mark(4, unicode));
}

// The most important of the channels that share a cell.
std::string shades(const std::vector<float>& importance, const cli::LineScale& scale, bool unicode) {
  std::string line;
  for (std::size_t cell = 0; cell < scale.n_cells(); ++cell) {
    const auto begin = importance.begin() + static_cast<std::ptrdiff_t>(scale.first(cell));
    const auto end = importance.begin() + static_cast<std::ptrdiff_t>(scale.first(cell + 1));
    const int level = level_of(static_cast<double>(*std::max_element(begin, end)));
    for (std::size_t i = 0; i < scale.cell_width(); ++i) line += mark(level, unicode);
  }
  return line;
}

std::string input_text(const ml::Imatrix& imatrix, ml::ImatrixInput input, std::uint32_t n_rows,
                       std::size_t columns, bool unicode) {
  using Align = cli::Table::Align;
  constexpr std::size_t kName = 12;  // "classifier" and blanks
  const cli::LineScale scale(imatrix.shape.n_channels(input), std::max(columns, kName + 20) - kName, 1);
  cli::Table table({Align::left, Align::left});
  table.add({fmt::format("{:<10}", ml::imatrix_input_name(input)), scale.ruler()});
  for (std::uint32_t layer = 0; layer < n_rows; ++layer) {
    const std::vector<float> importance = ml::imatrix_importance(imatrix, layer, input);
    table.add({input == ml::ImatrixInput::classifier ? "" : fmt::format("layer {}", layer),
               importance.empty() ? "no tokens" : shades(importance, scale, unicode)});
  }
  return table.text();
}

}  // namespace

std::string map_text(const ml::Imatrix& imatrix, std::size_t columns, bool unicode) {
  std::string text;
  for (const ml::ImatrixInput input : ml::imatrix_layer_inputs())
    text += input_text(imatrix, input, imatrix.shape.n_layers, columns, unicode);
  return text + input_text(imatrix, ml::ImatrixInput::classifier, 1, columns, unicode) + legend(unicode);
}

}  // namespace imatrix_merge
