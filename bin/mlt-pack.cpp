// Turns a tokenizer into a .mlt.

#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <ml/inspect.hpp>
#include <ml/output.hpp>
#include <ml/tokenizer.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <limits>
#include <optional>

namespace {

struct Options {
  std::string input = "-";
  std::string output = "-";
  bool dry_run = false;
  bool json = false;
  ml::PackOptions pack;
};

void add_options(cli::Tool& tool, Options& options) {
  auto& app = tool.app();
  app.add_option("INPUT", options.input,
                 "A tokenizer.json, a folder that holds one, a .gguf or a .mlt; - or none: standard input")
      ->type_name(cli::type_of("INPUT", cli::tokenizer_files()));
  app.add_option("-o,--output", options.output, "Where the .mlt goes; default: standard output")
      ->type_name("FILE");
  app.add_flag("--lossy", options.pack.lossy,
               "Accept what a .mlt cannot say where that changes rare inputs only");
  app.add_flag("--strict", options.pack.strict, "Refuse what needs an extension flag");
  app.add_option("--max-vocab", options.pack.max_vocab,
                 "Drop the added tokens from id N on, as a model of N tokens needs")
      ->check(CLI::Range(0u, std::numeric_limits<std::uint32_t>::max()));
  app.add_flag("--dry-run", options.dry_run, "Print what would be written, and write nothing");
  app.add_flag("--json", options.json, "Print a report as one JSON object");
  tool.add_threads();
  tool.add_force();
}

ml::Result<nlohmann::ordered_json> report(const Options& options, const ml::PackedTokenizer& packed) {
  const auto tokenizer = ml::Tokenizer::from_bytes(packed.bytes);
  if (!tokenizer) return tokenizer.error();
  const auto id = [](std::optional<std::uint32_t> token) {
    return token ? nlohmann::ordered_json(*token) : nlohmann::ordered_json();
  };
  return nlohmann::ordered_json{
      {"input", options.input},
      {"output", options.dry_run ? nlohmann::ordered_json() : nlohmann::ordered_json(options.output)},
      {"dry_run", options.dry_run},
      {"n_bytes", packed.bytes.size()},
      {"kind", static_cast<unsigned>(tokenizer->kind())},
      {"n_vocab", tokenizer->n_vocab()},
      {"n_merges", tokenizer->n_merges()},
      {"bos", id(tokenizer->bos())},
      {"eos", id(tokenizer->eos())},
      {"flags", tokenizer->flags()},
      {"notes", packed.notes}};
}

void print_report(cli::Tool& tool, const Options& options, const ml::PackedTokenizer& packed) {
  const auto json = report(options, packed);
  if (!json) return tool.fail(ml::with_path(json.error(), options.input));
  tool.print(cli::json_line(*json));
}

void pack(cli::Tool& tool, const Options& options) {
  if (options.json && !options.dry_run && cli::names_standard_output(options.output))
    return tool.fail_usage("--json prints the report to standard output, so the tokenizer needs -o FILE");
  const auto packed = ml::pack_tokenizer(options.input, options.pack);
  if (!packed) return tool.fail(ml::with_path(packed.error(), options.input));
  for (const std::string& note : packed->notes) tool.note(cli::input_name(options.input) + ": " + note);
  if (options.dry_run && options.json) return print_report(tool, options, *packed);
  if (options.dry_run) return tool.print("file: {} bytes\n", packed->bytes.size());
  auto file = ml::OutputFile::create(options.output,
                                     {.force = tool.force(), .inputs = ml::input_files(options.input)});
  if (!file) return tool.fail(file.error());
  if (const auto written = file->write(packed->bytes); !written) return tool.fail(written.error());
  if (const auto done = file->commit(); !done) return tool.fail(done.error());
  if (options.json) print_report(tool, options, *packed);
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlt-pack", "Turns a tokenizer.json into a .mlt tokenizer.",
                 "mlt-pack tokenizer.json -o model.mlt");
  Options options;
  add_options(tool, options);
  return tool.main(argc, argv, [&] { pack(tool, options); });
}
