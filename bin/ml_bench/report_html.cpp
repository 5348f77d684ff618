// The page of --html.

#include "common/svg_chart.hpp"
#include "common/text.hpp"
#include "ml_bench/report.hpp"

#include <algorithm>

namespace ml_bench {

namespace {

// Bars of all tests of one kind and length, so that one scale fits them.
void add_chart(cli::HtmlPage& page, const Results& results, const Options& options, const std::string& test) {
  std::vector<cli::ChartBar> bars;
  for (const Row& row : results.rows) {
    if (row.name() != test) continue;
    const double share = row.share_of_limit(options.batch);
    bars.push_back({.label = fmt::format("{}, {}, {}", row.model->path, cli::counted(row.threads, "thread"),
                                         ml::target_name(row.target)),
                    .value = row.tokens_per_second(row.median()),
                    .shown = fmt::format("{:.1f}{}", row.tokens_per_second(row.median()),
                                         share > 0 ? fmt::format(" ({:.0f} % of limit)", 100 * share) : ""),
                    .error = row.deviation_of_speed()});
    bars.back().second = row.decode;
  }
  page.figure(test + ", tokens a second", cli::bar_chart(test + ", tokens a second", bars));
}

// Every measurement in its order: a machine that was disturbed is seen.
void add_rounds(cli::HtmlPage& page, const Row& row) {
  std::vector<cli::ChartBar> columns;
  for (std::size_t i = 0; i < row.seconds.size() && i < cli::kMaxColumns; ++i) {
    const double speed = row.tokens_per_second(row.seconds[i]);
    columns.push_back(
        {.label = std::to_string(i + 1), .value = speed, .shown = fmt::format("{:.1f}", speed)});
    columns.back().second = row.decode;
  }
  const std::string name = fmt::format("{}: {}, {}, {}", row.model->path, row.name(),
                                       cli::counted(row.threads, "thread"), ml::target_name(row.target));
  page.figure(name, cli::column_chart(name, columns));
}

}  // namespace

cli::HtmlPage html_page(const Results& results, const Options& options) {
  cli::HtmlPage page("Speed of language models", "ml-bench on " + machine_line(results));
  page.paragraph(limit_lines(results));
  page.heading("Speed");
  std::vector<std::string> tests;
  for (const Row& row : results.rows) {
    if (std::find(tests.begin(), tests.end(), row.name()) == tests.end()) tests.push_back(row.name());
  }
  for (const std::string& test : tests) add_chart(page, results, options, test);
  page.table(speed_table(results, options), kSpeedColumns, true);
  page.heading("Models");
  page.table(model_table(results), kModelColumns, true);
  page.heading("Rounds");
  page.paragraph("Tokens a second of each repetition.");
  for (const Row& row : results.rows) add_rounds(page, row);
  return page;
}

}  // namespace ml_bench
