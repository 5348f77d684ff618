#include "common/text.hpp"

#include <ml/status.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

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

std::string sparkline(std::span<const double> heights) {
  constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double most = heights.empty() ? 0 : *std::max_element(heights.begin(), heights.end());
  std::string line;
  for (const double height : heights) {
    const double share = most > 0 ? height / most : 0;
    const auto level = static_cast<std::size_t>(std::ceil(share * static_cast<double>(kBars.size())));
    line += level == 0 ? " " : kBars[level - 1];
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
