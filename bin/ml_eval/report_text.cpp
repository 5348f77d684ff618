#include "common/terminal.hpp"
#include "common/text.hpp"
#include "ml_eval/report.hpp"

#include <unistd.h>

#include <algorithm>

namespace ml_eval {

namespace {

using Align = cli::Table::Align;

std::string with_error(const ml::Estimate& estimate, int digits = 4) {
  return fmt::format("{} ± {}", cli::decimal(estimate.mean, digits), cli::decimal(estimate.error, digits));
}
std::string percent(const ml::Estimate& share) {
  return fmt::format("{:.2f} ± {:.2f} %", 100 * share.mean, 100 * share.error);
}
std::string small(double value) { return fmt::format("{:.4g}", value); }

void add_comparison(Rows& rows, const About& about, const ml::EvaluationSums& sums) {
  rows.push_back({"against", about.against});
  rows.push_back({"its perplexity", with_error(sums.base_perplexity())});
  rows.push_back({"ratio", with_error(sums.perplexity_ratio())});
  const ml::Estimate kl = sums.kl();
  rows.push_back({"KL divergence",
                  fmt::format("{} ± {}, at most {}", small(kl.mean), small(kl.error), small(sums.kl_max()))});
  rows.push_back({"  quantiles", fmt::format("50 % {}, 90 % {}, 99 % {}, 99.9 % {}",
                                             small(sums.kl_quantile(0.5)), small(sums.kl_quantile(0.9)),
                                             small(sums.kl_quantile(0.99)), small(sums.kl_quantile(0.999)))});
  rows.push_back({"same likeliest", percent(sums.top_agreement())});
  rows.push_back({"same top five", percent(sums.top5_agreement())});
  rows.push_back(
      {"probability", fmt::format("{} on average, {:.2f} % rms", percent(sums.probability_change()),
                                  100 * sums.probability_change_rms())});
}

void print_rows(cli::Tool& tool, const Rows& rows, Align align) {
  cli::Table table(std::vector<Align>(rows.front().size(), align));
  for (const auto& row : rows) table.add(row);
  tool.print(table.text());
}

// Bars of the mean KL divergence, or of the mean -log probability where nothing is compared.
void print_windows(cli::Tool& tool, const Plan& plan, const Result& result, std::size_t max_rows) {
  const std::vector<WindowRow> rows = window_rows(plan, result, max_rows);
  double largest = 0;
  for (const WindowRow& row : rows) largest = std::max(largest, row.value);
  constexpr std::size_t kColumns = 36;  // of the other cells, about
  const std::size_t columns = std::clamp<std::size_t>(cli::terminal_columns(STDOUT_FILENO), 50, 120);
  cli::Table table({Align::right, Align::right, Align::right, Align::left});
  table.add({"window at", "tokens", result.sums.compared() ? "KL" : "nll", ""});
  for (const WindowRow& row : rows) {
    const double share = largest > 0 ? row.value / largest : 0;
    table.add({row.name, fmt::format("{}", row.n_tokens), small(row.value),
               cli::bar(share, columns - kColumns, cli::unicode_terminal())});
  }
  tool.print("\n" + table.text());
}

}  // namespace

Rows summary_rows(const About& about, const ml::EvaluationSums& sums) {
  Rows rows;
  rows.push_back(
      {"model", fmt::format("{} ({} activations, {} cache)", about.model, about.activations, about.kv)});
  rows.push_back(
      {"texts", fmt::format("{}: {} of {} every {}{}", about.n_texts, cli::counted(about.n_windows, "window"),
                            about.ctx, about.stride, about.bos ? ", each with BOS" : "")});
  rows.push_back({"tokens scored", fmt::format("{}", sums.n_tokens())});
  rows.push_back({"perplexity", with_error(sums.perplexity())});
  rows.push_back({"nll", with_error(sums.nll(), 5) + " nats a token"});
  if (sums.compared()) add_comparison(rows, about, sums);
  return rows;
}

Rows position_rows(const ml::EvaluationSums& sums) {
  Rows rows{{"tokens before", "tokens", "perplexity"}};
  if (sums.compared()) {
    rows[0].push_back("KL");
    rows[0].push_back("same likeliest");
  }
  const auto positions = sums.positions();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto& p = positions[i];
    if (p.n_tokens == 0) continue;
    const auto n = static_cast<double>(p.n_tokens);
    ml::EvaluationSums one;  // for the exponential in the library's own bits
    ml::TokenScore mean;
    mean.nll = p.nll.value() / n;
    one.add(0, mean);
    const std::uint64_t first = i == 0 ? 0 : std::uint64_t(1) << i;
    std::vector<std::string> row{fmt::format("{} - {}", first, (std::uint64_t(2) << i) - 1),
                                 fmt::format("{}", p.n_tokens), cli::decimal(one.perplexity().mean, 4)};
    if (sums.compared()) {
      row.push_back(small(p.kl.value() / n));
      row.push_back(fmt::format("{:.2f} %", 100 * static_cast<double>(p.n_same_top) / n));
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<WindowRow> window_rows(const Plan& plan, const Result& result, std::size_t max_rows) {
  const std::size_t n_each = (result.windows.size() + max_rows - 1) / max_rows;
  std::vector<WindowRow> rows;
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    const WindowResult& window = result.windows[i];
    if (i % n_each == 0) {
      const std::string text = plan.texts.size() > 1 ? fmt::format("{}:", window.text + 1) : "";
      rows.push_back({.name = fmt::format("{}{}", text, window.begin)});
    }
    const auto n = static_cast<double>(window.n_tokens);
    rows.back().n_tokens += window.n_tokens;
    rows.back().value += (result.sums.compared() ? window.kl : window.nll) * n;
  }
  for (WindowRow& row : rows) row.value /= static_cast<double>(row.n_tokens);
  return rows;
}

void print_text(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options) {
  const ml::EvaluationSums& sums = result.sums;
  print_rows(tool, summary_rows(about, sums), Align::left);
  if (options.by_position) {
    tool.print("\n");
    print_rows(tool, position_rows(sums), Align::right);
  }
  if (plan == nullptr) return;
  constexpr std::size_t kChartRows = 24;
  if (options.by_window) {
    print_windows(tool, *plan, result, result.windows.size());
  } else if (sums.compared() && ::isatty(STDOUT_FILENO) != 0) {
    print_windows(tool, *plan, result, kChartRows);
  }
}

}  // namespace ml_eval
