// Adds importance matrices, and says what is in them.

#include "common/csv.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/terminal.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"
#include "imatrix_merge/map.hpp"

#include <ml/imatrix.hpp>
#include <ml/output.hpp>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  bool stats = false;
  bool map = false;
  bool dry_run = false;
  std::string format = "text";
};

struct Row {
  std::uint32_t layer;
  ml::ImatrixInput input;
};

std::vector<Row> rows_of(const ml::ImatrixShape& shape) {
  std::vector<Row> rows;
  for (std::uint32_t layer = 0; layer < shape.n_layers; ++layer) {
    for (const ml::ImatrixInput input : ml::imatrix_layer_inputs()) rows.push_back({layer, input});
  }
  rows.push_back({0, ml::ImatrixInput::classifier});
  return rows;
}

// @param n_marks  in the picture of each row
std::string stats_text(const ml::Imatrix& imatrix, std::size_t n_marks) {
  using Align = cli::Table::Align;
  cli::Table table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                    Align::right, Align::left});
  table.add({"INPUT", "CHANNELS", "MEAN", "MAX", "AT", "TOP 1%", "ZERO", n_marks == 0 ? "" : "IN ORDER"});
  const bool unicode = cli::unicode_terminal();
  for (const Row& row : rows_of(imatrix.shape)) {
    const ml::ImatrixStats stats = ml::imatrix_stats(imatrix, row.layer, row.input);
    table.add({ml::imatrix_sums_name(row.layer, row.input),
               std::to_string(imatrix.shape.n_channels(row.input)), fmt::format("{:.4g}", stats.mean),
               fmt::format("{:.4g}", stats.max), std::to_string(stats.max_channel),
               fmt::format("{:.1f}%", 100 * stats.top_share), std::to_string(stats.n_zero),
               n_marks == 0 ? "||" : "|" + cli::sparkline(stats.profile, n_marks, unicode) + "|"});
  }
  return table.text();
}

// An object for each layer and input.
std::vector<nlohmann::ordered_json> to_rows(const ml::Imatrix& imatrix) {
  std::vector<nlohmann::ordered_json> rows;
  for (const Row& row : rows_of(imatrix.shape)) {
    const ml::ImatrixStats stats = ml::imatrix_stats(imatrix, row.layer, row.input);
    const bool classifier = row.input == ml::ImatrixInput::classifier;
    rows.push_back({{"name", ml::imatrix_sums_name(row.layer, row.input)},
                    {"layer", classifier ? nlohmann::json() : nlohmann::json(row.layer)},
                    {"input", ml::imatrix_input_name(row.input)},
                    {"n_channels", imatrix.shape.n_channels(row.input)},
                    {"mean", stats.mean},
                    {"max", stats.max},
                    {"max_channel", stats.max_channel},
                    {"top_share", stats.top_share},
                    {"n_zero", stats.n_zero},
                    {"profile", stats.profile}});
  }
  return rows;
}

nlohmann::ordered_json to_json(const Arguments& arguments, const ml::Imatrix& imatrix) {
  const ml::ImatrixShape& shape = imatrix.shape;
  nlohmann::ordered_json json{{"files", arguments.files},
                              {"n_layers", shape.n_layers},
                              {"dim", shape.dim},
                              {"hidden_dim", shape.hidden_dim},
                              {"q_dim", shape.q_dim},
                              {"tokens", imatrix.tokens},
                              {"classifier_tokens", imatrix.classifier_tokens}};
  json["inputs"] = to_rows(imatrix);
  return json;
}

void merge(cli::Tool& tool, Arguments arguments) {
  if (arguments.files.empty()) arguments.files.push_back("-");
  if (const std::string problem = cli::standard_input_problem(arguments.files); !problem.empty())
    return tool.fail_usage(problem);
  if (arguments.map && arguments.format != "text")
    return tool.fail_usage(fmt::format("--map is a picture of text, not {}", arguments.format));
  const bool shows = arguments.stats || arguments.map || arguments.format != "text";
  if (shows && arguments.dry_run)
    return tool.fail_usage(
        "--dry-run prints one line; --stats, --map, --json and --format write nothing without -o");
  if (arguments.output.empty() && !shows) arguments.output = "-";
  const bool to_stdout = cli::names_standard_output(arguments.output);
  if (shows && to_stdout) {
    return tool.fail_usage(
        "--stats, --map, --json and --format print on standard output, so the matrix needs -o FILE");
  }
  const auto total = ml::merge_imatrices(arguments.files);
  if (!total) return tool.fail(ml::with_path(total.error(), arguments.files.front()));
  for (const std::string& note : total->notes) tool.note(note);
  if (arguments.dry_run) {
    tool.print("file: {} bytes; {} of {}\n", total->shape.n_bytes(), cli::counted(total->tokens, "token"),
               cli::counted(arguments.files.size(), "file"));
    return;
  }
  if (const std::string& path = arguments.output; !path.empty()) {
    auto out = ml::OutputFile::create(path, {.force = tool.force(), .inputs = arguments.files});
    if (!out) return tool.fail(ml::with_path(out.error(), path));
    auto written = ml::write_imatrix(*total, *out);
    if (written) written = out->commit();
    if (!written) return tool.fail(ml::with_path(written.error(), path));
    tool.note(fmt::format("{}: {} of {}", to_stdout ? "standard output" : path,
                          cli::counted(total->tokens, "token"),
                          cli::counted(arguments.files.size(), "file")));
  }
  if (arguments.format == "json") {
    tool.print(cli::json_line(to_json(arguments, *total)));
  } else if (arguments.format == "csv") {
    tool.print(cli::csv_text(to_rows(*total)));
  } else {
    if (arguments.stats) {
      constexpr std::size_t kMost = std::tuple_size_v<decltype(ml::ImatrixStats::profile)>;
      tool.print(stats_text(*total, cli::sparkline_columns(kMost, stats_text(*total, 0))));
    }
    if (arguments.map) {
      tool.print(
          imatrix_merge::map_text(*total, cli::terminal_columns(STDOUT_FILENO), cli::unicode_terminal()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("imatrix-merge", "Adds importance matrices, and says what is in them.",
                 "imatrix-merge shard-*.mli -o model.mli --stats");
  Arguments arguments;
  CLI::App& app = tool.app();
  app.add_option("FILE", arguments.files,
                 "Importance matrices of one model, MLI1 or llama.cpp's GGUF; - or none: standard input")
      ->type_name(cli::type_of("FILE", cli::files_with({".mli", ".gguf"})));
  app.add_option("-o,--output", arguments.output,
                 "The matrix to write; -: standard output, the default where nothing is shown")
      ->type_name("FILE");
  app.add_flag("--stats", arguments.stats,
               "A row for each layer and input: mean, largest, share of the top 1 % of channels, sparkline");
  app.add_flag("--map", arguments.map, "Which channels matter, as shades: a row for each layer and input");
  app.add_option("--format", arguments.format, "How the rows of --stats are printed")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_flag(
      "--json", [&arguments](std::int64_t) { arguments.format = "json"; }, "The same as --format json");
  app.add_flag("--dry-run", arguments.dry_run, "Print what would be written, and write nothing");
  tool.add_threads();
  tool.add_force();
  return tool.main(argc, argv, [&] { merge(tool, arguments); });
}
