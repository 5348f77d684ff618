#include "ml_bench/report.hpp"

#include "common/csv.hpp"
#include "common/text.hpp"

#include <ml/version.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <ctime>

namespace ml_bench {

namespace {

using nlohmann::ordered_json;

// The present in UTC, as ISO 8601 writes it.
std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

double bits_per_weight(const ModelFacts& model) {
  return 8.0 * static_cast<double>(model.n_bytes) / static_cast<double>(model.n_weights);
}

ordered_json or_null(double value) { return value > 0 ? ordered_json(value) : ordered_json(); }

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e9)); }

std::string percent(double share) { return share > 0 ? fmt::format("{:.0f} %", 100 * share) : "-"; }

void print_markdown(cli::Tool& tool, const Results& results, const Options& options) {
  print_markdown_table(tool, speed_table(results, options), kSpeedColumns);
  tool.print("\n");
  print_markdown_table(tool, model_table(results), kModelColumns);
  tool.print("\n{}", machine_line(results));
  tool.print(limit_lines(results));
  if (!options.digest) return;
  for (const Row& row : results.rows)
    tool.print("digest {} {} {}\n", row.digest, row.name(), cell(row.model->path));
}

}  // namespace

ordered_json to_json(const Row& row, const Results& results, const Options& options) {
  const ModelFacts& model = *row.model;
  ordered_json samples = ordered_json::array();
  for (const double duration : row.seconds) samples.push_back(nanoseconds(duration));
  ordered_json json{{"model", model.path},
                    {"model_bytes", model.n_bytes},
                    {"n_weights", model.n_weights},
                    {"bits_per_weight", bits_per_weight(model)},
                    {"test", row.name()},
                    {"n_prompt", row.decode ? 0 : row.n},
                    {"n_gen", row.decode ? row.n : 0},
                    {"n_depth", row.depth},
                    {"threads", row.threads},
                    {"target", ml::target_name(row.target)},
                    {"acts", acts_name(options)},
                    {"kv", ml::kv_type_name(model.kv)},
                    {"batch", options.batch},
                    {"median_ns", nanoseconds(row.median())},
                    {"mean_ns", nanoseconds(row.mean())},
                    {"stddev_ns", nanoseconds(row.deviation())},
                    {"samples_ns", samples},
                    {"median_ts", row.tokens_per_second(row.median())},
                    {"mean_ts", row.tokens_per_second(row.mean())},
                    {"stddev_ts", row.deviation_of_speed()},
                    {"bytes_per_second", row.bytes_per_second(options.batch)},
                    {"read_bandwidth", row.limits.read_bandwidth},
                    {"read_bandwidth_drift", row.limits.read_drift},
                    {"operations_per_second", or_null(row.operations_per_second())},
                    {"int8_peak", or_null(row.limits.int8_peak)},
                    {"int8_peak_drift", row.limits.int8_drift},
                    {"share_of_limit", or_null(row.share_of_limit(options.batch))},
                    {"load_ms", 1e3 * model.load_seconds},
                    {"first_token_ms", 1e3 * model.first_token_seconds},
                    {"peak_memory_bytes", model.peak_memory},
                    {"digest", row.digest.empty() ? ordered_json() : ordered_json(row.digest)}};
  add_run(json, results);
  return json;
}

void print(cli::Tool& tool, const Results& results, const Options& options) {
  if (options.format == "md") {
    if (!results.rows.empty()) print_markdown(tool, results, options);
    return;
  }
  std::vector<ordered_json> rows;
  for (const Row& row : results.rows) rows.push_back(to_json(row, results, options));
  print_rows(tool, rows, options);
}

void print_rows(cli::Tool& tool, const std::vector<ordered_json>& rows, const Options& options) {
  if (options.format == "csv") return tool.print(cli::csv_text(rows, "samples_ns"));
  if (options.format == "jsonl") {
    for (const ordered_json& row : rows) tool.print(cli::json_line(row));
    return;
  }
  const ordered_json all = rows.empty() ? ordered_json::array() : ordered_json(rows);
  tool.print(all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

Cells speed_table(const Results& results, const Options& options) {
  Cells cells{{"model", "size", "bits/weight", "test", "threads", "target", "tok/s", "mean ± sd", "GB/s",
               "of limit"}};
  for (const Row& row : results.rows) {
    cells.push_back(
        {row.model->path, cli::human_size(row.model->n_bytes),
         fmt::format("{:.2f}", bits_per_weight(*row.model)), row.name(), std::to_string(row.threads),
         std::string(ml::target_name(row.target)), fmt::format("{:.2f}", row.tokens_per_second(row.median())),
         fmt::format("{:.2f} ± {:.2f}", row.tokens_per_second(row.mean()), row.deviation_of_speed()),
         fmt::format("{:.1f}", row.bytes_per_second(options.batch) / 1e9),
         percent(row.share_of_limit(options.batch))});
  }
  return cells;
}

Cells model_table(const Results& results) {
  Cells cells{{"model", "load", "first token", "peak memory"}};
  for (const ModelFacts& model : results.models) {
    cells.push_back({model.path, fmt::format("{:.1f} ms", 1e3 * model.load_seconds),
                     fmt::format("{:.1f} ms", 1e3 * model.first_token_seconds),
                     cli::human_size(model.peak_memory)});
  }
  return cells;
}

std::string limit_lines(const Results& results) {
  std::string known;
  for (const Row& row : results.rows) {
    std::string line =
        fmt::format("limits with {}: {:.1f} GB/s read (± {:.0f} %)", cli::counted(row.threads, "thread"),
                    row.limits.read_bandwidth / 1e9, 100 * row.limits.read_drift);
    if (row.limits.int8_peak > 0) {
      line += fmt::format(", {:.0f} GOPS of 8-bit products on {} (± {:.0f} %)", row.limits.int8_peak / 1e9,
                          ml::target_name(row.target), 100 * row.limits.int8_drift);
    }
    line += '\n';
    if (known.find(line) == std::string::npos) known += line;
  }
  return known;
}

void print_markdown_table(cli::Tool& tool, const Cells& cells, std::string_view columns) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string line = "|";
    for (const std::string& text : cells[i]) line += fmt::format(" {} |", cell(text));
    tool.print("{}\n", line);
    if (i > 0) continue;
    std::string rule = "|";
    for (const char column : columns) rule += column == 'l' ? "---|" : "--:|";
    tool.print("{}\n", rule);
  }
}

std::string cell(const std::string& text) {
  const std::string quoted = ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string result;
  for (const char c : quoted.substr(1, quoted.size() - 2)) result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

std::string machine_line(const Results& results) {
  return fmt::format("{}, {}, {}; mlutils {}\n", results.machine.cpu,
                     cli::counted(results.machine.cores, "core"), results.machine.system, ml::version());
}

const char* acts_name(const Options& options) {
  return options.activations == ml::Activations::q8 ? "q8" : "f32";
}

void add_run(ordered_json& json, const Results& results) {
  json["machine"] = {{"cpu", results.machine.cpu},
                     {"cores", results.machine.cores},
                     {"memory_bytes", results.machine.memory_bytes},
                     {"system", results.machine.system}};
  json["version"] = ml::version();
  json["time"] = utc_time();
}

}  // namespace ml_bench
