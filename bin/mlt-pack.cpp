// Turns a tokenizer into a .mlt.

#include "common/standard_input.hpp"
#include "common/tool.hpp"

#include <ml/inspect.hpp>
#include <ml/output.hpp>
#include <ml/tokenizer.hpp>

#include <CLI/CLI.hpp>

#include <limits>

namespace {

struct Options {
  std::string input = "-";
  std::string output = "-";
  bool dry_run = false;
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
  tool.add_threads();
  tool.add_force();
}

void pack(cli::Tool& tool, const Options& options) {
  const auto packed = ml::pack_tokenizer(options.input, options.pack);
  if (!packed) return tool.fail(ml::with_path(packed.error(), options.input));
  for (const std::string& note : packed->notes) tool.note(cli::input_name(options.input) + ": " + note);
  if (options.dry_run) return tool.print("file: {} bytes\n", packed->bytes.size());
  auto file = ml::OutputFile::create(options.output,
                                     {.force = tool.force(), .inputs = ml::input_files(options.input)});
  if (!file) return tool.fail(file.error());
  if (const auto written = file->write(packed->bytes); !written) return tool.fail(written.error());
  if (const auto done = file->commit(); !done) return tool.fail(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlt-pack", "Turns a tokenizer.json into a .mlt tokenizer.",
                 "mlt-pack tokenizer.json -o model.mlt");
  Options options;
  add_options(tool, options);
  return tool.main(argc, argv, [&] { pack(tool, options); });
}
