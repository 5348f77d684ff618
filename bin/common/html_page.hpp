#pragma once

#include "common/tool.hpp"

#include <ml/output.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Text for HTML, in elements and in quoted attributes: markup, control characters and bytes that are not
/// UTF-8 become harmless.
std::string html_escape(std::string_view text);

/// A page that is one file: its style and charts are in it, it asks for nothing from outside, follows the
/// reader's light or dark scheme, and reads on a phone.
class HtmlPage {
 public:
  /// @param title     what it is about  @param subtitle  how that came about
  HtmlPage(std::string_view title, std::string_view subtitle);

  void heading(std::string_view text);
  /// A paragraph for each line.
  void paragraph(std::string_view text);
  /// @param rows     the first one is the head where `head` says so
  /// @param columns  a letter each: l is text, r is a number, on the right
  void table(const std::vector<std::vector<std::string>>& rows, std::string_view columns, bool head);
  /// @param chart  of svg_chart.hpp
  void figure(std::string_view caption, const std::string& chart);

  /// The whole file.
  std::string text() const;

 private:
  std::string title_;
  std::string body_;
};

/// The file of --html. Without a path both steps do nothing.
class HtmlOutput {
 public:
  explicit HtmlOutput(Tool& tool) : tool_(tool) {}

  /// Creates the file, before work that would be lost without it. @return false: failed, and said so
  bool open(const std::string& path, const std::vector<std::string>& inputs);
  bool wanted() const { return file_.has_value(); }
  /// Writes the page and lets it appear under its name. @return false: failed, and said so
  bool write(const HtmlPage& page);

 private:
  Tool& tool_;
  std::string path_;
  std::optional<ml::OutputFile> file_;
};

/// What is wrong with a path of --html; "" when nothing is.
std::string html_problem(const std::string& path);

}  // namespace cli
