// Packs a checkpoint into a .mog as a recipe says.

#include "common/progress.hpp"
#include "common/recipe_hint.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <ml/mog_pack.hpp>
#include <ml/output.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace {

struct Arguments {
  std::string recipe = "-";
  std::string output = "-";
  std::string root;
  std::vector<std::string> overrides;
  bool dry_run = false;
  bool json = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("RECIPE", arguments.recipe,
                 "The JSON file that says what goes where; - or none: standard input")
      ->type_name(cli::type_of("RECIPE", cli::recipe_files()));
  app.add_option("-o,--output", arguments.output, "The .mog to write; - or none: standard output")
      ->type_name("FILE");
  app.add_option(
         "--root", arguments.root,
         "Where the recipe's files are; default: the recipe's own folder, of standard input the current one")
      ->type_name("FOLDER");
  app.add_option(
         "--set", arguments.overrides,
         "Another encoding for the slots that a pattern matches, as layers.*.q_proj=int4_g64_f32; may be "
         "given again, the last match counts")
      ->type_name(cli::type_of("GLOB=ENCODING", cli::pattern_with(cli::mog_encoding_names())))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--dry-run", arguments.dry_run,
               "Print the directory that would be written, and write nothing");
  app.add_flag("--json", arguments.json, "Print a report as one JSON object");
}

std::string shape_text(const ml::MlbArray& array) {
  return array.rows == 1 ? fmt::format("{}", array.cols) : fmt::format("{} x {}", array.rows, array.cols);
}

std::string directory_text(const ml::MogPackReport& report) {
  using Align = cli::Table::Align;
  cli::Table table({Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
                    Align::right, Align::left});
  table.add({"SLOT", "ENCODING", "SHAPE", "OFFSET", "BYTES", "SCALES AT", "BYTES", "SOURCE"});
  for (const ml::MogPackedTensor& tensor : report.tensors) {
    const ml::MlbArray& array = tensor.array;
    const bool scales = array.n_scale_bytes != 0;
    table.add({tensor.slot, tensor.encoding, shape_text(array), fmt::format("{}", array.offset),
               fmt::format("{}", array.n_bytes), scales ? fmt::format("{}", array.scale_offset) : "",
               scales ? fmt::format("{}", array.n_scale_bytes) : "", tensor.source});
  }
  return table.text();
}

std::string summary(const ml::MogPackReport& report) {
  return fmt::format("{}, {}, {} weights, {:.2f} bits a weight, {}{}", report.architecture,
                     cli::counted(report.tensors.size(), "tensor"), report.n_weights, report.bits_per_weight,
                     cli::human_size(report.n_bytes), report.tokenizer_bytes == 0 ? ", no tokenizer" : "");
}

nlohmann::ordered_json to_json(const Arguments& arguments, const ml::MogPackReport& report) {
  nlohmann::ordered_json tensors = nlohmann::json::array();
  for (const ml::MogPackedTensor& tensor : report.tensors) {
    const ml::MlbArray& array = tensor.array;
    tensors.push_back(
        {{"slot", tensor.slot},
         {"source", tensor.source},
         {"file", tensor.file},
         {"encoding", tensor.encoding},
         {"shape", array.rows == 1 ? nlohmann::json{array.cols} : nlohmann::json{array.rows, array.cols}},
         {"offset", array.offset},
         {"bytes", array.n_bytes},
         {"scale_offset", array.scale_offset},
         {"scale_bytes", array.n_scale_bytes}});
  }
  return {{"recipe", arguments.recipe},
          {"output", arguments.dry_run ? nlohmann::json() : nlohmann::json(arguments.output)},
          {"dry_run", arguments.dry_run},
          {"architecture", report.architecture},
          {"bytes", report.n_bytes},
          {"n_weights", report.n_weights},
          {"bits_per_weight", report.bits_per_weight},
          {"tokenizer_offset", report.tokenizer_offset},
          {"tokenizer_bytes", report.tokenizer_bytes},
          {"directory_offset", report.directory_offset},
          {"notes", report.notes},
          {"tensors", std::move(tensors)}};
}

// @return false after a usage error
bool take_overrides(cli::Tool& tool, const Arguments& arguments, ml::MogPackOptions& options) {
  for (const std::string& text : arguments.overrides) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      tool.fail_usage(fmt::format("--set is '{}', must be GLOB=ENCODING", text));
      return false;
    }
    std::string encoding = text.substr(equals + 1);
    if (ml::find_mog_encoding(encoding) == nullptr) {
      tool.fail_usage(fmt::format(
          "--set is '{}', must be GLOB=ENCODING with an encoding of mog(5), like int4_g64_f32", text));
      return false;
    }
    options.overrides.push_back({text.substr(0, equals), std::move(encoding)});
  }
  return true;
}

void pack(cli::Tool& tool, const Arguments& arguments) {
  ml::MogPackOptions options{.root = arguments.root, .threads = tool.threads(), .target = tool.target()};
  if (!take_overrides(tool, arguments, options)) return;
  if (arguments.json && !arguments.dry_run && cli::names_standard_output(arguments.output))
    return tool.fail_usage("--json prints the report to standard output, so the model needs -o FILE");
  std::unique_ptr<cli::Progress> progress;
  options.progress = [&progress](std::uint64_t done, std::uint64_t) { progress->set(done); };
  const auto plan = ml::MogPack::plan(arguments.recipe, options);
  if (!plan) {
    const bool option = plan.error().status == ml::Status::arg;
    if (option) return tool.fail(ml::with_path(plan.error(), "--set"));
    return tool.fail(cli::with_root_hint(plan.error(), arguments.recipe, arguments.root,
                                         "--root names the folder of the checkpoint"));
  }
  const ml::MogPackReport& report = plan->report();
  const auto note = [&] {
    for (const std::string& text : report.notes) tool.note(cli::input_name(arguments.recipe) + ": " + text);
    for (const ml::MogPackedTensor& tensor : report.tensors) {
      tool.detail("{}: {}, as {} says", tensor.slot, tensor.encoding,
                  tensor.override_row ? "--set " + arguments.overrides[*tensor.override_row] : "the recipe");
    }
  };
  if (arguments.dry_run) {
    note();
    tool.print(arguments.json ? cli::json_line(to_json(arguments, report)) : directory_text(report));
    if (!arguments.json) tool.print("{}\n", summary(report));
    return;
  }
  auto out = ml::OutputFile::create(arguments.output, {.force = tool.force(), .inputs = plan->inputs()});
  if (!out) return tool.fail(out.error());
  note();
  progress = std::make_unique<cli::Progress>(tool, "packing", report.n_bytes, cli::human_size);
  const auto written = plan->write(*out);
  progress.reset();
  if (!written) return tool.fail(written.error());
  if (const auto done = out->commit(); !done) return tool.fail(done.error());
  tool.note(
      fmt::format("{}: {}", arguments.output == "-" ? "standard output" : arguments.output, summary(report)));
  if (arguments.json) tool.print(cli::json_line(to_json(arguments, report)));
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mog-pack", "Packs a checkpoint into a .mog as a recipe says.",
                 "mog-pack recipe.json --root ./checkpoint -o model.mog");
  Arguments arguments;
  add_options(tool.app(), arguments);
  tool.add_force();
  tool.add_verbose();
  tool.add_threads();
  return tool.main(argc, argv, [&] { pack(tool, arguments); });
}
