// The page of --html.

#include "common/svg_chart.hpp"
#include "ml_eval/report.hpp"

#include <ml/version.hpp>

namespace ml_eval {

namespace {

std::string number(double value) { return fmt::format("{:.4g}", value); }

void add_quantiles(cli::HtmlPage& page, const ml::EvaluationSums& sums) {
  std::vector<cli::ChartBar> bars;
  const auto add = [&bars](const char* label, double value) {
    bars.push_back({.label = label, .value = value, .shown = number(value)});
  };
  add("mean", sums.kl().mean);
  bars.back().error = sums.kl().error;
  bars.back().second = true;
  add("half of the tokens are below", sums.kl_quantile(0.5));
  add("90 %", sums.kl_quantile(0.9));
  add("99 %", sums.kl_quantile(0.99));
  add("99.9 %", sums.kl_quantile(0.999));
  page.figure("KL divergence of the tokens, in nats", cli::bar_chart("KL divergence of the tokens", bars));
}

// The columns of position_rows() that are worth a chart.
void add_positions(cli::HtmlPage& page, const ml::EvaluationSums& sums) {
  const auto positions = sums.positions();
  std::vector<cli::ChartBar> nll, kl, same;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto& p = positions[i];
    if (p.n_tokens == 0) continue;
    const auto n = static_cast<double>(p.n_tokens);
    const std::string label = fmt::format("{}", i == 0 ? 0 : std::uint64_t(1) << i);
    const auto bar = [&](double value) {
      return cli::ChartBar{.label = label, .value = value, .shown = number(value)};
    };
    nll.push_back(bar(p.nll.value() / n));
    kl.push_back(bar(p.kl.value() / n));
    same.push_back(bar(100 * static_cast<double>(p.n_same_top) / n));
  }
  page.heading("By position");
  page.paragraph("How many tokens of its window a token had before it, from this number to twice as many.");
  const auto chart = [&](const std::string& name, const std::vector<cli::ChartBar>& columns) {
    page.figure(name, cli::column_chart(name, columns));
  };
  chart("-log probability, nats a token", nll);
  if (sums.compared()) {
    chart("KL divergence, nats a token", kl);
    chart("Same likeliest token, %", same);
  }
  page.table(position_rows(sums), "rrrrr", true);
}

void add_windows(cli::HtmlPage& page, const Plan& plan, const Result& result) {
  std::vector<cli::ChartBar> columns;
  for (const WindowRow& row : window_rows(plan, result, cli::kMaxColumns)) {
    columns.push_back({.label = row.name,
                       .value = row.value,
                       .shown = fmt::format("{} over {} tokens", number(row.value), row.n_tokens)});
  }
  page.heading("By window");
  page.paragraph(
      "Where the window begins: token of the text, after the number of the text where there are several.");
  const std::string name =
      result.sums.compared() ? "KL divergence, nats a token" : "-log probability, nats a token";
  page.figure(name, cli::column_chart(name, columns));
}

}  // namespace

cli::HtmlPage html_page(const About& about, const Plan* plan, const Result& result) {
  const ml::EvaluationSums& sums = result.sums;
  std::string names;
  for (const std::string& text : about.texts) names += (names.empty() ? "" : ", ") + text;
  cli::HtmlPage page(sums.compared() ? fmt::format("{} against {}", about.model, about.against) : about.model,
                     fmt::format("ml-eval of mlutils {} over {}", ml::version(), names));
  page.heading("Result");
  page.table(summary_rows(about, sums), "ll", false);
  if (sums.compared()) add_quantiles(page, sums);
  add_positions(page, sums);
  if (plan != nullptr) add_windows(page, *plan, result);
  return page;
}

}  // namespace ml_eval
