#include "mlt_encode/options.hpp"

#include "common/standard_input.hpp"

#include <CLI/CLI.hpp>

namespace mlt_encode {

void add_options(cli::Tool& tool, Options& options) {
  auto& app = tool.app();
  app.add_option("TEXT-FILE", options.files, "Texts, or ids with --decode; default: standard input");
  app.add_option("-m,--tokenizer", options.tokenizer,
                 "A .mlt, .mog or .gguf, a tokenizer.json, or a folder that holds one")
      ->type_name(cli::type_of("FILE", cli::tokenizer_files()))
      ->required();
  app.add_flag("-d,--decode", options.decode, "Ids to text");
  app.add_flag("--lines", options.lines, "Each line is a text (or the ids of one)");
  app.add_option("--format", options.format, "How ids are written and, with --decode, read")
      ->check(CLI::IsMember({"ids", "jsonl", "u16", "u32", "pieces"}))
      ->capture_default_str();
  app.add_flag(
      "--json", [&options](std::int64_t) { options.format = "jsonl"; }, "The same as --format jsonl");
  app.add_flag("--count", options.count, "Print only the number of ids of each text");
  auto* bos = app.add_flag("--bos", options.bos, "Begin with BOS; default: as the tokenizer says");
  app.add_flag("--no-bos", options.no_bos, "Do not begin with BOS")->excludes(bos);
  app.add_flag("--no-added", options.no_added, "Added tokens in the text are plain text");
  app.add_flag("--strict", options.strict, "Refuse text that is not UTF-8");
  app.add_option("-o,--output", options.output, "Where the answer goes; default: standard output")
      ->type_name("FILE");
  tool.add_threads();
  tool.add_force();
}

std::string usage_problem(const Options& options) {
  std::vector<std::string> inputs = options.files;
  if (inputs.empty()) inputs.push_back("-");
  inputs.push_back(options.tokenizer);
  if (std::string problem = cli::standard_input_problem(inputs); !problem.empty()) return problem;
  if (options.count && options.decode) return "--count and --decode exclude each other";
  if (options.decode && options.format == "pieces") return "--format pieces cannot be decoded";
  if (options.decode && options.lines && options.raw())
    return "--lines needs ids as text, not --format " + options.format;
  return {};
}

}  // namespace mlt_encode
