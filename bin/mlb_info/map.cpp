// --map: how large the weights of each kind of matrix are, layer by layer.

#include "common/line_scale.hpp"
#include "common/standard_input.hpp"
#include "common/terminal.hpp"
#include "common/text.hpp"
#include "mlb_info/details.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace mlb_info {

namespace {

/// Weights of one kind of matrix in one layer; of all its experts together.
struct Cell {
  std::uint64_t n = 0;
  double squares = 0;
  double largest = 0;  ///< magnitude

  void add(const ml::TensorStats& stats) {
    const std::uint64_t n_finite = stats.n - stats.n_non_finite;
    n += n_finite;
    squares += stats.rms * stats.rms * static_cast<double>(n_finite);
    largest = std::max<double>({largest, std::abs(stats.min), std::abs(stats.max)});
  }
  double rms() const { return n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n)); }
  double outlier() const { return squares > 0 ? largest / rms() : 0; }
};

struct Kind {
  std::string name;
  std::map<std::size_t, Cell> layers = {};  ///< those that have it: a name may claim any number
};

// What follows the number of the layer, with * for the numbers in it: "wq", "mlp.experts.*.up_proj.weight".
std::string kind_of(const ml::InfoArray& array) {
  const std::string number = fmt::format(".{}.", array.layer);
  const std::size_t at = array.name.find(number);
  std::string_view rest(array.name);
  if (at != std::string::npos) rest.remove_prefix(at + number.size());
  std::string kind;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const bool counts =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    kind += kind.empty() ? "" : ".";
    kind += counts ? "*" : part;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kind;
}

std::vector<Kind> kinds_of(const ml::FileReport& report, const Details& details) {
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < report.arrays.size(); ++i) {
    const ml::InfoArray& array = report.arrays[i];
    if (array.layer == ml::kNoLayer || array.shape.size() < 2 || !details.stats[i]) continue;
    const std::string name = kind_of(array);
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& known) { return known.name == name; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{.name = name});
    kind->layers[array.layer].add(*details.stats[i]);
  }
  return kinds;
}

struct Row {
  double least = std::numeric_limits<double>::infinity();
  double largest = 0;
  std::string shades;
};

// The largest of the values of the layers that share a cell; the shade from the least to the largest of all.
template <class Value>
Row draw(const Kind& kind, const cli::LineScale& scale, Value&& value) {
  const bool unicode = cli::unicode_terminal();
  Row row;
  for (const auto& [number, layer] : kind.layers) {
    if (layer.n == 0) continue;
    row.least = std::min(row.least, value(layer));
    row.largest = std::max(row.largest, value(layer));
  }
  for (std::size_t cell = 0; cell < scale.n_cells(); ++cell) {
    double most = -1;
    const auto end = kind.layers.lower_bound(scale.first(cell + 1));
    for (auto layer = kind.layers.lower_bound(scale.first(cell)); layer != end; ++layer) {
      if (layer->second.n > 0) most = std::max(most, value(layer->second));
    }
    const double share = row.largest > row.least ? (most - row.least) / (row.largest - row.least) : 0;
    for (std::size_t i = 0; i < scale.cell_width(); ++i)
      row.shades += most < 0 ? " " : std::string(cli::shade(share, unicode));
  }
  return row;
}

template <class Value>
void print_table(cli::Tool& tool, const std::vector<Kind>& kinds, const std::string& title,
                 const cli::LineScale& scale, Value&& value) {
  using Align = cli::Table::Align;
  cli::Table table({Align::left, Align::left, Align::right, Align::right, Align::left});
  table.add({"", title, "LEAST", "LARGEST", scale.ruler()});
  for (const Kind& kind : kinds) {
    const Row row = draw(kind, scale, value);
    if (row.shades.find_first_not_of(' ') == std::string::npos) continue;
    table.add({"", cli::printable(kind.name), fmt::format("{:.4g}", row.least),
               fmt::format("{:.4g}", row.largest), row.shades});
  }
  tool.print(table.text());
}

}  // namespace

void print_map(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
               const Details& details) {
  const std::vector<Kind> kinds = kinds_of(report, details);
  if (kinds.empty())
    return tool.note(cli::input_name(path) + ": has no matrices in layers, of which --map is drawn");
  constexpr const char* kRms = "RMS BY LAYER";
  constexpr const char* kOutlier = "LARGEST / RMS";
  std::size_t longest = std::string_view(kOutlier).size();
  for (const Kind& kind : kinds) longest = std::max(longest, cli::display_width(cli::printable(kind.name)));
  constexpr std::size_t kNumbers = 28;  // columns of the two numbers, with blanks
  constexpr std::size_t kLeast = 8;
  const std::size_t columns = cli::terminal_columns(STDOUT_FILENO);
  std::size_t n_layers = 0;
  for (const Kind& kind : kinds) n_layers = std::max(n_layers, kind.layers.rbegin()->first + 1);
  const cli::LineScale scale(n_layers,
                             columns > longest + kNumbers + kLeast ? columns - longest - kNumbers : kLeast);
  print_table(tool, kinds, kRms, scale, [](const Cell& cell) { return cell.rms(); });
  print_table(tool, kinds, kOutlier, scale, [](const Cell& cell) { return cell.outlier(); });
}

}  // namespace mlb_info
