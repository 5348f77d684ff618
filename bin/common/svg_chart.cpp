#include "common/svg_chart.hpp"

#include "common/html_page.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cli {

namespace {

// The plot of a chart with axes, in percent across and in pixels down.
constexpr double kLeft = 12;
constexpr double kRight = 98;
constexpr double kTop = 10;
constexpr double kBottom = 200;
constexpr double kHeight = 240;

std::string open_svg(const std::string& name, double height) {
  return fmt::format("<svg role=\"img\" aria-label=\"{}\" height=\"{:.0f}\">\n", html_escape(name), height);
}

// What a piece of a chart says under the pointer, and to a screen reader.
std::string tooltip(const std::string& label, const std::string& shown) {
  return fmt::format("<title>{}: {}</title>", html_escape(label), html_escape(shown));
}

struct Axis {
  double low = 0;
  double high = 1;
  double step = 1;

  double share(double value) const { return std::clamp((value - low) / (high - low), 0.0, 1.0); }
};

// Steps of 1, 2 or 5 times a power of ten, about four of them, that enclose both numbers.
Axis axis_of(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  if (!(high > low)) high = low == 0 ? 1 : low + std::abs(low);
  const double rough = (high - low) / 4;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  return {.low = std::floor(low / step) * step, .high = std::ceil(high / step) * step, .step = step};
}

std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  const auto n = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int i = 0; i <= n; ++i) ticks.push_back(axis.low + axis.step * i);
  return ticks;
}

// A number beside an axis has room for five characters.
std::string tick_label(double value) {
  const double size = std::abs(value);
  if (size >= 1e15 || size < 1e4) return fmt::format("{:.4g}", value);
  const auto power = static_cast<std::size_t>(std::log10(size) / 3);
  return fmt::format("{:.4g}{}", value / std::pow(1e3, static_cast<double>(power)), "_kMGT"[power]);
}

// A line between two points, above a wider one that keeps it apart from what it crosses.
std::string error_bar(const std::string& ends) {
  return fmt::format("<line class=\"halo\" {0}/><line class=\"error\" {0}/>", ends);
}

double across(double share) { return kLeft + (kRight - kLeft) * share; }
double down(double share) { return kBottom - (kBottom - kTop) * share; }

std::string draw_y_axis(const Axis& axis) {
  std::string out;
  for (const double tick : ticks_of(axis)) {
    const double y = down(axis.share(tick));
    out += fmt::format("<line class=\"grid\" x1=\"{0}%\" x2=\"{1}%\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kLeft,
                       kRight, y);
    out += fmt::format("<text class=\"faint\" x=\"{}%\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kLeft - 1, y + 4, tick_label(tick));
  }
  return out;
}

std::string x_label(double percent, const std::string& text, const char* anchor = "middle") {
  return fmt::format("<text class=\"faint\" x=\"{:.2f}%\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", percent,
                     kBottom + 18, anchor, html_escape(text));
}

// The end of a name, which tells files of one folder apart.
std::string end_of(const std::string& label, std::size_t most) {
  if (display_width(label) <= most) return label;
  std::size_t begin = label.size() - std::min(label.size(), most - 1);
  while (begin < label.size() && (static_cast<unsigned char>(label[begin]) & 0xc0) == 0x80) ++begin;
  return "…" + label.substr(begin);
}

double largest(std::span<const ChartBar> bars) {
  double most = 0;
  for (const ChartBar& bar : bars) most = std::max(most, bar.value + bar.error);
  return most;
}

const char* colour(const ChartBar& bar) { return bar.second ? "two" : "one"; }

}  // namespace

std::string bar_chart(const std::string& name, std::span<const ChartBar> bars) {
  // Where a label and its value do not stand on one line of a phone, values have a line of their own.
  constexpr std::size_t kPhone = 44;
  const bool narrow = std::all_of(bars.begin(), bars.end(), [](const ChartBar& bar) {
    return display_width(bar.label) + display_width(bar.shown) <= kPhone;
  });
  const double text_height = narrow ? 22 : 40;
  const double row_height = text_height + 18;
  const double most = largest(bars);
  const auto percent = [most](double value) {
    return most > 0 ? 100 * std::clamp(value / most, 0.0, 1.0) : 0;
  };
  std::string out = open_svg(name, row_height * static_cast<double>(bars.size()));
  double top = 0;
  for (const ChartBar& bar : bars) {
    out += fmt::format("<text x=\"0\" y=\"{}\">{}</text>", top + 16, html_escape(end_of(bar.label, kPhone)));
    out += fmt::format("<text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                       narrow ? "100%" : "0", top + text_height - 6, narrow ? "end" : "start",
                       html_escape(bar.shown));
    out +=
        fmt::format("<rect class=\"{}\" x=\"0\" y=\"{}\" width=\"{:.2f}%\" height=\"10\" rx=\"2\">{}</rect>",
                    colour(bar), top + text_height, percent(bar.value), tooltip(bar.label, bar.shown));
    if (bar.error > 0) {
      out += error_bar(fmt::format("x1=\"{0:.2f}%\" x2=\"{1:.2f}%\" y1=\"{2}\" y2=\"{2}\"",
                                   percent(bar.value - bar.error), percent(bar.value + bar.error),
                                   top + text_height + 5));
    }
    out += '\n';
    top += row_height;
  }
  return out + "</svg>\n";
}

std::string column_chart(const std::string& name, std::span<const ChartBar> columns) {
  const Axis axis = axis_of(0, largest(columns));
  std::string out = open_svg(name, kHeight - 15) + draw_y_axis(axis);
  const auto n = static_cast<double>(columns.size());
  constexpr std::size_t kLabels = 5;
  const std::size_t every = (columns.size() + kLabels - 1) / kLabels;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double y = down(axis.share(columns[i].value));
    const double left = across((static_cast<double>(i) + 0.1) / n);
    const double width = (kRight - kLeft) * 0.8 / n;
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.3f}%\" y=\"{:.1f}\" width=\"{:.3f}%\" height=\"{:.1f}\">{}</rect>\n",
        colour(columns[i]), left, y, width, kBottom - y, tooltip(columns[i].label, columns[i].shown));
    if (i % every == 0) out += x_label(left + width / 2, columns[i].label);
  }
  return out + "</svg>\n";
}

std::string point_chart(const std::string& x_name, const std::string& y_name,
                        std::span<const ChartPoint> points) {
  double left = points.front().x, right = left, most = 0;
  for (const ChartPoint& point : points) {
    left = std::min(left, point.x);
    right = std::max(right, point.x);
    most = std::max(most, point.y + point.error);
  }
  const Axis x_axis = axis_of(left, right);
  const Axis y_axis = axis_of(0, most);
  std::string out = open_svg(y_name + " over " + x_name, kHeight) + draw_y_axis(y_axis);
  for (const double tick : ticks_of(x_axis)) out += x_label(across(x_axis.share(tick)), tick_label(tick));
  out += fmt::format("<text class=\"faint\" x=\"{}%\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kRight,
                     kBottom + 36, html_escape(x_name));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ChartPoint& point = points[i];
    const double x = across(x_axis.share(point.x));
    const double y = down(y_axis.share(point.y));
    if (point.error > 0) {
      out += error_bar(fmt::format("x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"", x,
                                   down(y_axis.share(point.y - point.error)),
                                   down(y_axis.share(point.y + point.error))));
    }
    out += fmt::format("<circle class=\"one\" cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"9\">{}</circle>", x, y,
                       tooltip(point.label, fmt::format("{:.4g}, {:.4g}", point.x, point.y)));
    out += fmt::format("<text class=\"number\" x=\"{:.2f}%\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       x, y + 4, i + 1);
  }
  return out + "</svg>\n";
}

}  // namespace cli
