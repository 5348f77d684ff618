#include "common/terminal.hpp"
#include "common/text.hpp"
#include "ml_eval/report.hpp"

#include <unistd.h>

#include <algorithm>

namespace ml_eval {

namespace {

using Align = cli::Table::Align;

std::string with_error(const ml::Estimate& estimate, int digits = 4) {
  return fmt::format("{:.{}f} ± {:.{}f}", estimate.mean, digits, estimate.error, digits);
}
std::string percent(const ml::Estimate& share) {
  return fmt::format("{:.2f} ± {:.2f} %", 100 * share.mean, 100 * share.error);
}
std::string small(double value) { return fmt::format("{:.4g}", value); }

void print_comparison(cli::Table& table, const About& about, const ml::EvaluationSums& sums) {
  table.add({"against", about.against});
  table.add({"its perplexity", with_error(sums.base_perplexity())});
  table.add({"ratio", with_error(sums.perplexity_ratio())});
  const ml::Estimate kl = sums.kl();
  table.add({"KL divergence",
             fmt::format("{} ± {}, at most {}", small(kl.mean), small(kl.error), small(sums.kl_max()))});
  table.add({"  quantiles", fmt::format("50 % {}, 90 % {}, 99 % {}, 99.9 % {}", small(sums.kl_quantile(0.5)),
                                        small(sums.kl_quantile(0.9)), small(sums.kl_quantile(0.99)),
                                        small(sums.kl_quantile(0.999)))});
  table.add({"same likeliest", percent(sums.top_agreement())});
  table.add({"same top five", percent(sums.top5_agreement())});
  table.add({"probability", fmt::format("{} on average, {:.2f} % rms", percent(sums.probability_change()),
                                        100 * sums.probability_change_rms())});
}

void print_positions(cli::Tool& tool, const ml::EvaluationSums& sums) {
  cli::Table table({Align::right, Align::right, Align::right, Align::right, Align::right});
  std::vector<std::string> head{"tokens before", "tokens", "perplexity"};
  if (sums.compared()) {
    head.push_back("KL");
    head.push_back("same likeliest");
  }
  table.add(head);
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
                                 fmt::format("{}", p.n_tokens), fmt::format("{:.4f}", one.perplexity().mean)};
    if (sums.compared()) {
      row.push_back(small(p.kl.value() / n));
      row.push_back(fmt::format("{:.2f} %", 100 * static_cast<double>(p.n_same_top) / n));
    }
    table.add(row);
  }
  tool.print("\n" + table.text());
}

struct Row {
  std::string name;
  std::uint64_t n_tokens = 0;
  double nll = 0;  // sums
  double kl = 0;
};

// A row for each window, or for as many neighbours as leave at most max_rows.
std::vector<Row> rows_of(const Plan& plan, const Result& result, std::size_t max_rows) {
  const std::size_t n_each = (result.windows.size() + max_rows - 1) / max_rows;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    const WindowResult& window = result.windows[i];
    if (i % n_each == 0) {
      const std::string text = plan.texts.size() > 1 ? fmt::format("{}:", window.text + 1) : "";
      rows.push_back({.name = fmt::format("{}{}", text, window.begin)});
    }
    const auto n = static_cast<double>(window.n_tokens);
    rows.back().n_tokens += window.n_tokens;
    rows.back().nll += window.nll * n;
    rows.back().kl += window.kl * n;
  }
  return rows;
}

// Bars of the mean KL divergence, or of the mean -log probability where nothing is compared.
void print_windows(cli::Tool& tool, const Plan& plan, const Result& result, std::size_t max_rows) {
  const bool compared = result.sums.compared();
  const std::vector<Row> rows = rows_of(plan, result, max_rows);
  const auto value = [&](const Row& row) {
    return (compared ? row.kl : row.nll) / static_cast<double>(row.n_tokens);
  };
  double largest = 0;
  for (const Row& row : rows) largest = std::max(largest, value(row));
  constexpr std::size_t kColumns = 36;  // of the other cells, about
  const std::size_t columns = std::clamp<std::size_t>(cli::terminal_columns(STDOUT_FILENO), 50, 120);
  cli::Table table({Align::right, Align::right, Align::right, Align::left});
  table.add({"window at", "tokens", compared ? "KL" : "nll", ""});
  for (const Row& row : rows) {
    const double share = largest > 0 ? value(row) / largest : 0;
    table.add({row.name, fmt::format("{}", row.n_tokens), small(value(row)),
               cli::bar(share, columns - kColumns, cli::unicode_terminal())});
  }
  tool.print("\n" + table.text());
}

}  // namespace

void print_text(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options) {
  const ml::EvaluationSums& sums = result.sums;
  cli::Table table({Align::left, Align::left});
  table.add(
      {"model", fmt::format("{} ({} activations, {} cache)", about.model, about.activations, about.kv)});
  table.add({"texts", fmt::format("{}: {} window{} of {} every {}{}", about.n_texts, about.n_windows,
                                  about.n_windows == 1 ? "" : "s", about.ctx, about.stride,
                                  about.bos ? ", each with BOS" : "")});
  table.add({"tokens scored", fmt::format("{}", sums.n_tokens())});
  table.add({"perplexity", with_error(sums.perplexity())});
  table.add({"nll", with_error(sums.nll(), 5) + " nats a token"});
  if (sums.compared()) print_comparison(table, about, sums);
  tool.print(table.text());
  if (options.by_position) print_positions(tool, sums);
  if (plan == nullptr) return;
  constexpr std::size_t kChartRows = 24;
  if (options.by_window) {
    print_windows(tool, *plan, result, result.windows.size());
  } else if (sums.compared() && ::isatty(STDOUT_FILENO) != 0) {
    print_windows(tool, *plan, result, kChartRows);
  }
}

}  // namespace ml_eval
