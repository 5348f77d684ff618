// Writes a checkpoint as a NanoSeedLM model folder, and decodes one.

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"
#include "seed_pack/latent.hpp"

#include <ml/inspect.hpp>
#include <ml/seed_pack.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace {

const std::vector<std::string> kEncodings{"bf16", "q8", "q4", "q4g32", "seed4p4", "seed4"};

struct Arguments {
  std::string input;
  std::string output;
  std::string encoding = "seed4p4";
  std::vector<std::string> rules;
  std::string mla;
  seed_pack::LatentArguments latent;
  std::string imatrix;
  std::string shard_size = "4.5G";
  std::string loader;
  std::string work;
  bool strict = false;
  bool dry_run = false;
  bool json = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("FOLDER", arguments.input,
                 "A checkpoint folder, or a single .safetensors file; - is one on standard input")
      ->type_name(cli::type_of("FOLDER", cli::files_with({".safetensors"})))
      ->required();
  app.add_option("-o,--output", arguments.output, "The folder (or file) to write")
      ->type_name("FOLDER")
      ->required();
  app.add_option("--encoding", arguments.encoding, "Encoding of the matrices called *.weight")
      ->check(CLI::IsMember(kEncodings, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--rule", arguments.rules,
                 "GLOB=ENC: the encoding of tensors whose names fit; may be given again, the last match wins")
      ->type_name(cli::type_of("GLOB=ENC", cli::pattern_with(kEncodings)))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--mla", arguments.mla, "Encoding of the tensors of latent attention")
      ->check(CLI::IsMember(kEncodings, CLI::ignore_case));
  seed_pack::add_latent_options(app, arguments.latent);
  app.add_option("--imatrix", arguments.imatrix,
                 "An MLI1 importance matrix of the model: the seed search weighs errors by it")
      ->type_name(cli::type_of("FILE", cli::files_with({".mli", ".gguf"})));
  app.add_option("--shard-size", arguments.shard_size,
                 "Largest shard in bytes; K, M and G are powers of 1000")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_option("--loader", arguments.loader,
                 "A Python file to copy and to name as model_file in config.json; default: the input's own")
      ->type_name(cli::type_of("FILE", cli::files_with({".py"})));
  app.add_option("--work", arguments.work,
                 "Keep searched tensors in this folder, so that another try takes them from there")
      ->type_name("FOLDER");
  app.add_flag("--strict", arguments.strict, "Entries of the input that belong to no tensor are errors");
  app.add_flag("--dry-run", arguments.dry_run, "Print what would be written, and write nothing");
  app.add_flag("--json", arguments.json, "Print a report as one JSON object");
}

// "4.5G" -> 4500000000. @return 0 for what is no size
std::uint64_t parse_size(const std::string& text) {
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return 0;
  const std::string_view unit(after, end);
  const double factor = unit.empty() ? 1 : unit == "K" ? 1e3 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : 0;
  const double bytes = value * factor;
  return bytes >= 1 && bytes < 1e18 ? static_cast<std::uint64_t>(bytes) : 0;
}

// @return false after a failure
bool take_importance(cli::Tool& tool, const Arguments& arguments, ml::SeedPackOptions& options) {
  if (arguments.imatrix.empty()) return true;
  const auto imatrix = ml::open_imatrix(arguments.imatrix);
  if (!imatrix) return tool.fail(ml::with_path(imatrix.error(), arguments.imatrix)), false;
  const auto model = cli::open_model(tool, arguments.input);
  if (!model) return tool.fail(model.error()), false;
  auto importance = ml::column_importance(*imatrix, *model);
  if (!importance) return tool.fail(ml::with_path(importance.error(), arguments.imatrix)), false;
  for (const std::string& note : imatrix->notes) tool.note(fmt::format("{}: {}", arguments.imatrix, note));
  options.importance = *std::move(importance);
  return true;
}

// Those that are read besides the checkpoint and the loader.
std::vector<std::string> other_inputs(const Arguments& arguments) {
  std::vector<std::string> inputs{arguments.imatrix, arguments.latent.calibrate};
  if (!arguments.latent.tokenizer.empty()) {
    for (std::string& file : ml::input_files(arguments.latent.tokenizer)) inputs.push_back(std::move(file));
  }
  return inputs;
}

// @return false after a usage error
bool take_rules(cli::Tool& tool, const Arguments& arguments, ml::SeedPackOptions& options) {
  for (const std::string& rule : arguments.rules) {
    const std::size_t equals = rule.rfind('=');
    const auto encoding =
        equals == rule.npos ? std::nullopt : ml::find_pack_encoding(rule.substr(equals + 1));
    if (!encoding || equals == 0) {
      tool.fail_usage(fmt::format("--rule is '{}', must be GLOB=ENC with ENC one of {}", rule,
                                  fmt::join(kEncodings, " ")));
      return false;
    }
    options.rules.push_back({rule.substr(0, equals), *encoding});
  }
  return true;
}

// @return what is wrong with options that go together or not at all; "" when nothing is
std::string usage_problem(const Arguments& arguments, const ml::SeedPackOptions& options) {
  if (cli::names_standard_output(arguments.output))
    return "-o needs a name: the output is not written from its beginning to its end";
  if (options.shard_bytes == 0)
    return fmt::format("--shard-size is '{}', must be a size, like 4.5G", arguments.shard_size);
  const auto is_searched = [](ml::Encoding encoding) { return ml::encoding_info(encoding).seed_bytes != 0; };
  const bool any_searched = is_searched(options.encoding) || (options.mla && is_searched(*options.mla)) ||
                            std::any_of(options.rules.begin(), options.rules.end(),
                                        [&](const ml::PackRule& rule) { return is_searched(rule.encoding); });
  if (!arguments.imatrix.empty() && !any_searched)
    return "--imatrix needs seed4p4 or seed4 in --encoding, --mla or --rule: other encodings take no "
           "importance";
  const seed_pack::LatentArguments& latent = arguments.latent;
  if (latent.ranks.empty() != latent.calibrate.empty()) return "--to-mla and --calibrate go together";
  if (!latent.tokenizer.empty() && latent.ranks.empty()) return "--tokenizer needs --to-mla";
  return cli::standard_input_problem(
      {arguments.input, arguments.imatrix, latent.calibrate, latent.tokenizer});
}

// @return false after a failure
bool take_pipe(cli::Tool& tool, const Arguments& arguments, ml::SeedPackOptions& options) {
  auto piped = ml::read_piped(arguments.input);
  if (!piped) return tool.fail(ml::with_path(piped.error(), arguments.input)), false;
  options.piped = *std::move(piped);
  if (options.piped == nullptr || (arguments.imatrix.empty() && arguments.latent.ranks.empty())) return true;
  tool.fail({.status = ml::Status::arg,
             .message = "is a .safetensors file alone, but --imatrix and --to-mla need the model's folder",
             .path = arguments.input});
  return false;
}

nlohmann::ordered_json to_json(const Arguments& arguments, const ml::PackReport& report,
                               const ml::LatentConversion* latent) {
  nlohmann::ordered_json json{{"input", arguments.input},      {"output", arguments.output},
                              {"dry_run", arguments.dry_run},  {"bytes", report.n_bytes},
                              {"n_weights", report.n_weights}, {"bits_per_weight", report.bits_per_weight},
                              {"files", report.files}};
  if (!arguments.dry_run) json["seconds"] = report.seconds;
  if (latent != nullptr && !arguments.dry_run) json["latent"] = seed_pack::latent_json(latent->report);
  nlohmann::ordered_json tensors = nlohmann::json::array();
  for (const ml::PackedTensor& tensor : report.tensors) {
    nlohmann::ordered_json row{
        {"name", tensor.name},
        {"source_encoding", tensor.source_encoding},
        {"encoding", tensor.encoding},
        {"shape", tensor.shape},
        {"bytes", tensor.n_bytes},
        {"copied", tensor.copied},
        {"kept", tensor.kept.empty() ? nlohmann::json() : nlohmann::json(tensor.kept)}};
    if (!arguments.dry_run) {
      row["relative_error"] = tensor.relative_error;
      row["seconds"] = tensor.seconds;
    }
    tensors.push_back(std::move(row));
  }
  json["tensors"] = std::move(tensors);
  return json;
}

std::string plan_text(const ml::PackReport& report) {
  using Align = cli::Table::Align;
  cli::Table table({Align::left, Align::left, Align::right, Align::right});
  table.add({"tensor", "encoding", "shape", "bytes"});
  for (const ml::PackedTensor& tensor : report.tensors) {
    table.add({tensor.name, tensor.encoding, fmt::format("{}", fmt::join(tensor.shape, "x")),
               fmt::format("{}", tensor.n_bytes)});
  }
  return table.text() + fmt::format("shards: {} bytes, {:.3f} bits a weight, {} weights\n", report.n_bytes,
                                    report.bits_per_weight, report.n_weights);
}

void note_plan(cli::Tool& tool, const Arguments& arguments, const ml::PackReport& report) {
  for (const ml::Error& warning : report.warnings) tool.note(ml::describe(warning));
  for (const std::string& note : report.notes) tool.note(note);
  for (const ml::PackedTensor& tensor : report.tensors) {
    if (!tensor.kept.empty()) tool.note(fmt::format("{} stays bf16: {}", tensor.name, tensor.kept));
    if (tensor.kept.empty()) {
      tool.detail("{}: {} -> {}{}{}", tensor.name, tensor.source_encoding, tensor.encoding,
                  tensor.rule ? ", as --rule " + arguments.rules[*tensor.rule] + " says" : "",
                  tensor.copied ? ", bytes as they were" : "");
    }
  }
}

void pack(cli::Tool& tool, const Arguments& arguments) {
  ml::SeedPackOptions options{.encoding = *ml::find_pack_encoding(arguments.encoding),
                              .shard_bytes = parse_size(arguments.shard_size),
                              .loader = arguments.loader,
                              .inputs = other_inputs(arguments),
                              .work = arguments.work,
                              .threads = tool.threads(),
                              .target = tool.target(),
                              .force = tool.force(),
                              .strict = arguments.strict};
  if (!arguments.mla.empty()) options.mla = ml::find_pack_encoding(arguments.mla);
  if (!take_rules(tool, arguments, options)) return;
  if (const std::string problem = usage_problem(arguments, options); !problem.empty())
    return tool.fail_usage(problem);
  if (!take_pipe(tool, arguments, options)) return;
  if (!take_importance(tool, arguments, options)) return;
  std::optional<ml::LatentConversion> latent;
  if (!arguments.latent.ranks.empty()) {
    latent = seed_pack::convert(tool, arguments.input, arguments.latent, true);
    if (!latent) return;
    options.latent = &*latent;
  }
  const auto plan = ml::plan_pack(arguments.input, arguments.output, options);
  if (!plan) return tool.fail(ml::with_path(plan.error(), arguments.input));
  note_plan(tool, arguments, *plan);
  if (arguments.dry_run)
    return tool.print(arguments.json ? cli::json_line(to_json(arguments, *plan, options.latent))
                                     : plan_text(*plan));
  if (latent) {
    latent = seed_pack::convert(tool, arguments.input, arguments.latent, false);
    if (!latent) return;
  }
  const auto report = [&] {
    cli::Progress progress(tool, "packing", plan->n_weights);
    options.progress = [&progress](std::uint64_t done, std::uint64_t) { progress.set(done); };
    return ml::pack_model(arguments.input, arguments.output, options);
  }();
  if (!report) return tool.fail(ml::with_path(report.error(), arguments.input));
  tool.note(fmt::format("{}: {}, {:.2f} bits a weight, {:.2f} s", arguments.output,
                        cli::human_size(report->n_bytes), report->bits_per_weight, report->seconds));
  if (arguments.json) {
    tool.print(cli::json_line(to_json(arguments, *report, options.latent)));
  } else if (latent) {
    tool.print("{}", seed_pack::latent_text(latent->report));
  }
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("seed-pack", "Writes a checkpoint as a NanoSeedLM model folder, or decodes one.",
                 "seed-pack --encoding seed4p4 --rule 'lm_head.*=q8' -o packed ./checkpoint");
  Arguments arguments;
  add_options(tool.app(), arguments);
  tool.add_force();
  tool.add_verbose();
  tool.add_threads();
  return tool.main(argc, argv, [&] { pack(tool, arguments); });
}
