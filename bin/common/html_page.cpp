#include "common/html_page.hpp"

#include "common/same_path.hpp"
#include "common/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace cli {

namespace {

// The policy makes the promise that nothing is fetched one that the browser keeps.
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>)";

constexpr std::string_view kStyle = R"(</title>
<style>
:root { --paper: #ffffff; --ink: #1c2024; --faint: #60656c; --line: #d9dce0; --one: #2463b4; --two: #b4561f; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #e8eaed; --faint: #a0a6ad; --line: #363b41; --one: #7fb2f2; --two: #f0a06a; }
}
body { margin: 0 auto; max-width: 75rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; margin: 0.5rem 0 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
p { margin: 0.3rem 0; color: var(--faint); overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--faint); font-weight: 600; }
th.text, td.text { text-align: left; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 11rem; }
@media (max-width: 36rem) { table { font-size: 0.8rem; } th, td { padding-right: 0.6rem; } }
figure { margin: 1rem 0; }
figcaption { font-weight: 600; }
svg { display: block; width: 100%; max-width: 48rem; overflow: visible; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .faint { fill: var(--faint); }
svg .one { fill: var(--one); }
svg .two { fill: var(--two); }
svg .number { fill: var(--paper); font-weight: 600; font-size: 12px; }
svg .grid { stroke: var(--line); }
svg .error { stroke: var(--ink); stroke-width: 1.5; }
svg .halo { stroke: var(--paper); stroke-width: 4; }
svg circle { stroke: var(--paper); }
</style>
</head>
<body>
)";

}  // namespace

std::string html_escape(std::string_view text) {
  // Through JSON and back: what is not UTF-8 becomes U+FFFD.
  using Json = nlohmann::json;
  const std::string quoted = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (const char c : printable(Json::parse(quoted).get<std::string>(), text.size() * 4 + 1)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

HtmlPage::HtmlPage(std::string_view title, std::string_view subtitle) : title_(html_escape(title)) {
  body_ = fmt::format("<h1>{}</h1>\n", title_);
  paragraph(subtitle);
}

void HtmlPage::heading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", html_escape(text)); }

void HtmlPage::paragraph(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) body_ += fmt::format("<p>{}</p>\n", html_escape(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void HtmlPage::table(const std::vector<std::vector<std::string>>& rows, std::string_view columns, bool head) {
  body_ += "<div class=\"wide\"><table>\n";
  for (const auto& row : rows) {
    const char* tag = std::exchange(head, false) ? "th" : "td";
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      constexpr std::size_t kLong = 20;
      const char* kind = columns[i] == 'r'       ? ""
                         : row[i].size() > kLong ? " class=\"text long\""
                                                 : " class=\"text\"";
      body_ += fmt::format("<{0}{1}>{2}</{0}>", tag, kind, html_escape(row[i]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

void HtmlPage::figure(std::string_view caption, const std::string& chart) {
  body_ += fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", html_escape(caption), chart);
}

std::string HtmlPage::text() const {
  return fmt::format("{}{}{}{}</body>\n</html>\n", kHead, title_, kStyle, body_);
}

bool HtmlOutput::open(const std::string& path, const std::vector<std::string>& inputs) {
  if (path.empty()) return true;
  path_ = path;
  auto file = ml::OutputFile::create(path, {.force = tool_.force(), .binary = false, .inputs = inputs});
  if (file) {
    file_.emplace(std::move(*file));
  } else {
    tool_.fail(ml::with_path(file.error(), path));
  }
  return file_.has_value();
}

bool HtmlOutput::write(const HtmlPage& page) {
  if (!file_) return true;
  const std::string text = page.text();
  auto done = file_->write(std::as_bytes(std::span(text)));
  if (done) done = file_->commit();
  if (!done) tool_.fail(ml::with_path(done.error(), path_));
  return bool(done);
}

std::string html_problem(const std::string& path) {
  return names_standard_output(path) ? "--html needs a file: the result goes to standard output" : "";
}

}  // namespace cli
