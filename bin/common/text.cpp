#include "common/text.hpp"

#include "common/line_scale.hpp"
#include "common/terminal.hpp"

#include <ml/status.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace cli {

namespace {

constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};

// The largest prefix that leaves at least 1, with one decimal; plain below 1000.
std::string scaled(std::uint64_t number, const char* unit) {
  if (number < 1000) return fmt::format("{}{}{}", number, *unit != '\0' ? " " : "", unit);
  double value = static_cast<double>(number);
  std::size_t prefix = 0;
  // 999.95 would be printed as 1000.0
  while (value >= 999.95 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.1f} {}{}", value, kPrefixes[prefix], unit);
}

}  // namespace

std::string human_size(std::uint64_t bytes) { return scaled(bytes, "B"); }
std::string human_count(std::uint64_t count) { return scaled(count, ""); }

std::string decimal(double value, int digits) {
  return std::fabs(value) < 1e15 ? fmt::format("{:.{}f}", value, digits)
                                 : fmt::format("{:.{}e}", value, digits);
}

std::string counted(std::uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out = ml::printable(text.substr(0, most + 4));
  if (out.size() <= most) return out;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return out.substr(0, end) + "...";
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void Table::add(const std::vector<std::string>& cells) {
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(ml::printable(cell));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      const std::string pad(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i] == Align::left ? row[i] + pad : pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::size_t sparkline_columns(std::size_t n, std::string_view table) {
  constexpr std::size_t kLeast = 8;
  std::size_t taken = 0;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    taken = std::max(taken, display_width(std::string(table.substr(0, end))));
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return std::clamp(columns > taken ? columns - taken : 0, std::min(kLeast, n), n);
}

std::string sparkline(std::span<const double> heights, std::size_t columns, bool unicode) {
  if (heights.empty()) return "";
  const LineScale scale(heights.size(), columns, 1);
  std::vector<double> means;
  for (std::size_t cell = 0; cell < scale.n_cells(); ++cell) {
    const auto shared = heights.subspan(scale.first(cell), scale.first(cell + 1) - scale.first(cell));
    means.push_back(std::accumulate(shared.begin(), shared.end(), 0.0) / static_cast<double>(shared.size()));
  }
  constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double most = *std::max_element(means.begin(), means.end());
  std::string line;
  for (const double height : means) {
    const double share = most > 0 ? height / most : 0;
    const auto level = static_cast<std::size_t>(std::ceil(share * static_cast<double>(kBars.size())));
    line += level == 0 ? " " : unicode ? kBars[level - 1] : shade(share, false);
  }
  return line;
}

std::string escape_json_controls(std::string json) {
  const auto byte_at = [&](std::size_t at) {
    return at < json.size() ? static_cast<unsigned char>(json[at]) : 0u;
  };
  const auto n_bytes_at = [&](std::size_t at) -> std::size_t {
    if (byte_at(at) == 0x7f) return 1;
    return byte_at(at) == 0xc2 && byte_at(at + 1) >= 0x80 && byte_at(at + 1) < 0xa0 ? 2 : 0;
  };
  std::size_t at = 0;
  while (at < json.size() && n_bytes_at(at) == 0) ++at;
  if (at == json.size()) return json;
  std::string out = json.substr(0, at);
  while (at < json.size()) {
    if (const std::size_t n = n_bytes_at(at); n > 0) {
      out += fmt::format("\\u00{:02x}", byte_at(at + n - 1));
      at += n;
    } else {
      out += json[at++];
    }
  }
  return out;
}

std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + '\n'; }

}  // namespace cli
