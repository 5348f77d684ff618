#include "common/svg_chart.hpp"
#include "common/text.hpp"
#include "ml_bench/encodings.hpp"
#include "ml_bench/report.hpp"

#include <ml/version.hpp>

#include <nlohmann/json.hpp>

namespace ml_bench {

namespace {

using nlohmann::ordered_json;

ordered_json speed_json(const Row* row) {
  if (row == nullptr)
    return {{"test", nullptr}, {"median_ts", nullptr}, {"mean_ts", nullptr}, {"stddev_ts", nullptr}};
  return {{"test", row->name()},
          {"median_ts", row->tokens_per_second(row->median())},
          {"mean_ts", row->tokens_per_second(row->mean())},
          {"stddev_ts", row->deviation_of_speed()}};
}

ordered_json estimate_json(const ml::Estimate& estimate) {
  return {{"mean", estimate.mean}, {"error", estimate.error}};
}

// Scores are null without a text; the first variant's divergence from itself is 0.
ordered_json to_json(const Comparison& comparison, std::size_t i, const Options& options) {
  const Variant& variant = comparison.variants[i];
  const ml::MogPackReport& report = variant.pack.report();
  const Row* any =
      comparison.find(i, false) != nullptr ? comparison.find(i, false) : comparison.find(i, true);
  ordered_json json{{"encoding", variant.name},
                    {"bytes", report.n_bytes},
                    {"n_weights", report.n_weights},
                    {"bits_per_weight", report.bits_per_weight},
                    {"prefill", speed_json(comparison.find(i, false))},
                    {"decode", speed_json(comparison.find(i, true))}};
  const ordered_json nothing{{"mean", nullptr}, {"error", nullptr}};
  if (variant.scores) {
    const ml::EvaluationSums& sums = variant.scores->sums;
    const bool first = !sums.compared();
    json["n_tokens"] = sums.n_tokens();
    json["perplexity"] = estimate_json(sums.perplexity());
    json["kl"] = estimate_json(sums.kl());
    json["kl_p99"] = first ? 0.0 : sums.kl_quantile(0.99);
    json["top1_agreement"] = first ? 1.0 : sums.top_agreement().mean;
  } else {
    json["n_tokens"] = nullptr;
    json["perplexity"] = nothing;
    json["kl"] = nothing;
    json["kl_p99"] = nullptr;
    json["top1_agreement"] = nullptr;
  }
  json["recipe"] = options.encodings[0];
  json["threads"] = any->threads;
  json["target"] = ml::target_name(any->target);
  json["acts"] = acts_name(options);
  json["kv"] = ml::kv_type_name(any->model->kv);
  json["batch"] = options.batch;
  add_run(json, comparison.results);
  return json;
}

std::string speed_cell(const Row* row) {
  return row == nullptr ? "-" : fmt::format("{:.1f}", row->tokens_per_second(row->median()));
}

Cells encoding_table(const Comparison& comparison) {
  const auto name = [&](bool decode) {
    const Row* row = comparison.find(0, decode);
    return row == nullptr ? std::string(decode ? "decode" : "prefill") : row->name();
  };
  Cells cells{{"encoding", "bytes", "bits/weight", name(false) + " tok/s", name(true) + " tok/s"}};
  const bool scored = comparison.variants.front().scores.has_value();
  for (const char* column : {"perplexity", "KL divergence", "same likeliest"}) {
    if (scored) cells[0].push_back(column);
  }
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    const Variant& variant = comparison.variants[i];
    const ml::MogPackReport& report = variant.pack.report();
    std::vector<std::string> row{variant.name, fmt::format("{}", report.n_bytes),
                                 fmt::format("{:.2f}", report.bits_per_weight),
                                 speed_cell(comparison.find(i, false)), speed_cell(comparison.find(i, true))};
    if (scored) {
      const ml::EvaluationSums& sums = variant.scores->sums;
      row.push_back(fmt::format("{} ± {}", cli::decimal(sums.perplexity().mean, 4),
                                cli::decimal(sums.perplexity().error, 4)));
      row.push_back(sums.compared() ? fmt::format("{:.4g} ± {:.2g}", sums.kl().mean, sums.kl().error) : "0");
      row.push_back(sums.compared() ? fmt::format("{:.2f} %", 100 * sums.top_agreement().mean) : "100 %");
    }
    cells.push_back(std::move(row));
  }
  return cells;
}

// The first is text.
std::string columns_of(const Cells& cells) { return "l" + std::string(cells[0].size() - 1, 'r'); }

void print_markdown(cli::Tool& tool, const Comparison& comparison) {
  const Cells cells = encoding_table(comparison);
  print_markdown_table(tool, cells, columns_of(cells));
  tool.print("\n{}", machine_line(comparison.results));
}

// Points of the variants: bits a weight, and what value() gives where it gives something.
template <class Value>
void add_chart(cli::HtmlPage& page, const Comparison& comparison, const std::string& name, Value&& value) {
  std::vector<cli::ChartPoint> points;
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    const Variant& variant = comparison.variants[i];
    cli::ChartPoint point{.label = variant.name, .x = variant.pack.report().bits_per_weight};
    if (value(i, point)) points.push_back(std::move(point));
  }
  if (!points.empty()) page.figure(name, cli::point_chart("bits a weight", name, points));
}

}  // namespace

cli::HtmlPage encodings_page(const Comparison& comparison, const Options& options) {
  cli::HtmlPage page(
      "Encodings of " + (options.models.empty() ? options.encodings[0] : options.models.front()),
      "ml-bench --encodings on " + machine_line(comparison.results));
  Cells cells = encoding_table(comparison);
  const std::string columns = "r" + columns_of(cells);
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i].insert(cells[i].begin(), i == 0 ? "" : std::to_string(i));
  page.heading("Result");
  page.table(cells, columns, true);
  page.heading("Charts");
  page.paragraph("The numbers are those of the rows above.");
  if (comparison.variants.front().scores) {
    add_chart(page, comparison, "KL divergence from the first, nats a token",
              [&](std::size_t i, cli::ChartPoint& point) {
                const ml::Estimate kl = comparison.variants[i].scores->sums.kl();
                point.y = kl.mean;
                point.error = kl.error;
                return true;
              });
  }
  for (const bool decode : {true, false}) {
    add_chart(page, comparison, decode ? "Decode, tokens a second" : "Prefill, tokens a second",
              [&](std::size_t i, cli::ChartPoint& point) {
                const Row* row = comparison.find(i, decode);
                if (row == nullptr) return false;
                point.y = row->tokens_per_second(row->median());
                point.error = row->deviation_of_speed();
                return true;
              });
  }
  return page;
}

void print_encodings(cli::Tool& tool, const Comparison& comparison, const Options& options) {
  if (options.format == "md") return print_markdown(tool, comparison);
  std::vector<ordered_json> rows;
  for (std::size_t i = 0; i < comparison.variants.size(); ++i)
    rows.push_back(to_json(comparison, i, options));
  print_rows(tool, rows, options);
}

}  // namespace ml_bench
