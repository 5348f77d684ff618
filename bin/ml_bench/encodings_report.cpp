#include "common/text.hpp"
#include "ml_bench/encodings.hpp"
#include "ml_bench/report.hpp"

#include <ml/version.hpp>

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

void print_markdown(cli::Tool& tool, const Comparison& comparison) {
  const auto name = [&](bool decode) {
    const Row* row = comparison.find(0, decode);
    return row == nullptr ? std::string(decode ? "decode" : "prefill") : row->name();
  };
  const bool scored = comparison.variants.front().scores.has_value();
  tool.print("| encoding | bytes | bits/weight | {} tok/s | {} tok/s |{}\n", name(false), name(true),
             scored ? " perplexity | KL divergence | same likeliest |" : "");
  tool.print("|---|--:|--:|--:|--:|{}\n", scored ? "--:|--:|--:|" : "");
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    const Variant& variant = comparison.variants[i];
    const ml::MogPackReport& report = variant.pack.report();
    tool.print("| {} | {} | {:.2f} | {} | {} |", cell(variant.name), report.n_bytes, report.bits_per_weight,
               speed_cell(comparison.find(i, false)), speed_cell(comparison.find(i, true)));
    if (scored) {
      const ml::EvaluationSums& sums = variant.scores->sums;
      tool.print(" {:.4f} ± {:.4f} |", sums.perplexity().mean, sums.perplexity().error);
      if (sums.compared()) {
        tool.print(" {:.4g} ± {:.2g} | {:.2f} % |", sums.kl().mean, sums.kl().error,
                   100 * sums.top_agreement().mean);
      } else {
        tool.print(" 0 | 100 % |");
      }
    }
    tool.print("\n");
  }
  tool.print("\n{}", machine_line(comparison.results));
}

}  // namespace

void print_encodings(cli::Tool& tool, const Comparison& comparison, const Options& options) {
  if (options.format == "md") return print_markdown(tool, comparison);
  std::vector<ordered_json> rows;
  for (std::size_t i = 0; i < comparison.variants.size(); ++i)
    rows.push_back(to_json(comparison, i, options));
  print_rows(tool, rows, options);
}

}  // namespace ml_bench
