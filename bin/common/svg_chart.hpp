#pragma once

#include <span>
#include <string>

namespace cli {

// Charts as inline SVG for an HtmlPage, which has their colours. They are as wide as the page; text keeps its
// size, because what lies across is in percent and what lies down in pixels.

/// A quantity with a name.
struct ChartBar {
  std::string label;
  double value = 0;     ///< at least 0
  std::string shown;    ///< the value for people
  double error = 0;     ///< half the length of its error bar
  bool second = false;  ///< in the second colour
};

/// Bars from left to right below each other, each under its label.
std::string bar_chart(const std::string& name, std::span<const ChartBar> bars);

/// Columns from left to right; a few of the labels stand below them, each is a tooltip of its column.
/// At most kMaxColumns are legible.
std::string column_chart(const std::string& name, std::span<const ChartBar> columns);
inline constexpr std::size_t kMaxColumns = 96;

/// Points with numbers in them from 1 on, at x with an error bar at y.
struct ChartPoint {
  std::string label;  ///< the tooltip
  double x = 0;
  double y = 0;  ///< at least 0
  double error = 0;
};
std::string point_chart(const std::string& x_name, const std::string& y_name,
                        std::span<const ChartPoint> points);

}  // namespace cli
