// Says what a file is and whether it is sound.

#include "common/csv.hpp"
#include "common/progress.hpp"
#include "common/standard_input.hpp"
#include "common/tool.hpp"
#include "mlb_info/details.hpp"

#include <ml/inspect.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using mlb_info::Wanted;

using Rows = std::vector<nlohmann::ordered_json>;

ml::Result<ml::FileReport> inspect(const cli::Tool& tool, const std::string& path, const Wanted& wanted) {
  std::optional<cli::Progress> progress;
  const auto advance = [&](std::uint64_t done, std::uint64_t total) {
    if (!progress) progress.emplace(tool, "checking", total, cli::human_size);
    progress->set(done);
  };
  return ml::inspect(path, {.check = wanted.check, .threads = tool.threads(), .progress = advance});
}

void show(cli::Tool& tool, const std::string& path, const Wanted& wanted, Rows& csv) {
  const auto report = inspect(tool, path, wanted);
  if (!report) {
    if (wanted.json()) mlb_info::print_json_error(tool, path, report.error());
    return tool.fail(report.error());
  }
  const mlb_info::Details details = mlb_info::read_details(*report, wanted, tool);
  if (wanted.json()) {
    mlb_info::print_json(tool, path, *report, details, wanted);
  } else if (wanted.format == "csv") {
    for (auto& row : mlb_info::array_rows(path, *report, details)) csv.push_back(std::move(row));
  } else {
    mlb_info::print_text(tool, path, *report, details, wanted);
  }
  tool.flush();  // so that the answer stands before the messages about it
  for (const ml::Error& warning : report->warnings)
    wanted.strict ? tool.fail(warning) : tool.note(ml::describe(warning));
  for (const ml::Error& defect : report->defects) tool.fail(defect);
}

// @return nothing where the file has a defect, which was reported
std::optional<ml::FileReport> inspect_sound(cli::Tool& tool, const std::string& path, const Wanted& wanted) {
  auto report = inspect(tool, path, wanted);
  if (!report) return tool.fail(report.error()), std::nullopt;
  for (const ml::Error& defect : report->defects) tool.fail(defect);
  if (!report->defects.empty()) return std::nullopt;
  return *std::move(report);
}

// @return true when the files differ
bool diff(cli::Tool& tool, const std::vector<std::string>& paths, const Wanted& wanted) {
  if (paths.size() != 2) {
    tool.fail_usage(fmt::format("--diff takes two files, not {}", paths.size()));
    return false;
  }
  const auto a = inspect_sound(tool, paths[0], wanted);
  const auto b = inspect_sound(tool, paths[1], wanted);
  return a && b && mlb_info::print_diff(tool, *a, *b, paths[0], paths[1], wanted.json());
}

// @return what --diff does not go with; "" when nothing is asked for that it would leave out
std::string diff_problem(const Wanted& wanted) {
  if (wanted.format == "csv") return "--diff has no csv";
  const std::array<std::pair<bool, std::string_view>, 6> rows{{{wanted.header, "--header"},
                                                               {wanted.tensors, "--tensors"},
                                                               {wanted.stats, "--stats"},
                                                               {wanted.hash, "--hash"},
                                                               {wanted.map, "--map"},
                                                               {wanted.strict, "--strict"}}};
  for (const auto& [given, name] : rows) {
    if (given) return fmt::format("--diff takes --check, --format and --json, not {}", name);
  }
  return "";
}

std::vector<std::string> inputs_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : ml::input_files(path)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlb-info", "Says what a model or tokenizer file is and whether it is sound.",
                 "mlb-info --check --tensors model.mlb");
  std::vector<std::string> paths;
  Wanted wanted;
  CLI::App& app = tool.app();
  app.add_option(
      "FILE", paths,
      "A model (.mlb, .mog, .gguf, a folder or its config.json), a .mlt or .safetensors file, an importance "
      "matrix, logits of ml-eval or a session of ml-run; - or none: standard input");
  app.add_flag("--check", wanted.check, "Read everything and report every defect");
  app.add_flag("--header", wanted.header, "A row for each field: offset, name, value, meaning");
  app.add_flag("--tensors", wanted.tensors,
               "A row for each array: name, layer, encoding, shape, offset, bytes");
  app.add_flag("--stats", wanted.stats,
               "The rows with least, largest and mean weight, rms, zeros, histogram");
  app.add_flag("--hash", wanted.hash,
               "The rows with the XXH3-128 of each array's bytes, and that of each file");
  app.add_flag("--diff", wanted.diff,
               "Say how two files differ; exit status 1 when they do, or when --check finds a defect");
  app.add_flag("--map", wanted.map,
               "How large the weights are, as shades: a row for each kind of matrix, a cell a layer");
  app.add_option("--format", wanted.format, "How it is printed; csv: a line for each array")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_flag(
      "--json", [&wanted](std::int64_t) { wanted.format = "json"; },
      "The same as --format json: one JSON object a line for each file");
  app.add_flag("--strict", wanted.strict, "Entries that belong to no tensor are errors, not notes");
  tool.add_threads();
  tool.add_output();

  bool differ = false;
  const int status = tool.main(argc, argv, [&] {
    if (const std::string problem = wanted.diff ? diff_problem(wanted) : ""; !problem.empty())
      return tool.fail_usage(problem);
    if (const std::string problem = cli::standard_input_problem(paths); !problem.empty())
      return tool.fail_usage(problem);
    if (paths.empty()) paths.push_back("-");
    if (!tool.open_output(inputs_of(paths), true)) return;
    if (wanted.diff) {
      differ = diff(tool, paths, wanted);
      return;
    }
    Rows csv;
    for (const std::string& path : paths) show(tool, path, wanted, csv);
    if (wanted.format == "csv") tool.print(cli::csv_text(csv));
  });
  return status == 0 && differ ? 1 : status;
}
