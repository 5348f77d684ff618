#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// @return "812 B", "1.2 MB": decimal units, at most four figures
std::string human_size(std::uint64_t bytes);

/// @return "512", "1.1 M", "7.0 G": decimal units
std::string human_count(std::uint64_t count);

/// @return a number with `digits` after its point, from 1e15 on with an exponent; "inf"
std::string decimal(double value, int digits);

/// @return "1 token", "2 tokens"; `noun` takes an s
std::string counted(std::uint64_t n, std::string_view noun);

/// Rows of text whose columns are aligned.
class Table {
 public:
  enum class Align { left, right };

  /// @param columns  the alignment of each column
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// Adds a row, printable whatever its cells hold; missing cells are empty.
  void add(const std::vector<std::string>& cells);
  /// @return the rows, two blanks between columns, no blanks at the ends of lines
  std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// ml::printable() text, cut off where it is longer than `most` bytes.
std::string printable(std::string_view text, std::size_t most = 200);

/// @return columns that UTF-8 text takes on a terminal, counting each code point as one
std::size_t display_width(const std::string& text);

/// @return JSON whose strings hold \u00XX for U+007F to U+009F
std::string escape_json_controls(std::string json);

/// Columns for sparklines of `n` heights in a table: those that the terminal behind standard output has left,
/// at least eight.
///
/// @param table  the table with nothing in their place
std::size_t sparkline_columns(std::size_t n, std::string_view table);

/// Heights as marks on one line, the highest one full; zero is a blank.
///
/// @param columns  at least 1; where they are fewer, neighbours share one and their mean is drawn
/// @param unicode  bars in eighths of the line; else darker and darker marks of ASCII
std::string sparkline(std::span<const double> heights, std::size_t columns, bool unicode);

/// @return the value on one line, without control characters: 0x7f to 0x9f are escaped, too; bytes that are
/// not UTF-8 become U+FFFD
template <class Json>
std::string json_text(const Json& json) {
  return escape_json_controls(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// @return json_text() with a newline
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace cli
