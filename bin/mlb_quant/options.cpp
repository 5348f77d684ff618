#include "mlb_quant/options.hpp"

#include "common/standard_input.hpp"
#include "common/values.hpp"

#include <ml/mlb.hpp>
#include <ml/quantize.hpp>

#include <CLI/CLI.hpp>

namespace mlb_quant {

namespace {

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const ml::Q8Class& row : ml::q8_classes()) names.emplace_back(row.name);
  return names;
}

}  // namespace

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("INPUT", arguments.input,
                 "A checkpoint folder, a .gguf, a .mog or a .mlb; - or none: a .mlb on standard input")
      ->type_name(cli::type_of("INPUT", cli::model_files()));
  app.add_option("-o,--output", arguments.output, "The .mlb to write; - or none: standard output")
      ->type_name("FILE");
  app.add_option("--type", arguments.type, "Encoding of the matrices; of a .gguf: as it stores them")
      ->check(CLI::IsMember({"q8_0", "q4_0"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--scales", arguments.scales, "How the scale of each block of 32 weights is stored")
      ->check(CLI::IsMember({"f32", "f16"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option(
         "--q8", arguments.q8,
         "With q4_0: classes of matrices to store as Q8_0 (tok_emb wcls qk v o gate_up down, separated by "
         "commas); may be given again")
      ->type_name(cli::type_of("CLASS", cli::list_of(class_names())))
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
         "--q4-rule", arguments.q4_rule,
         "How Q4_0 scales are found: the best of 13 fits, that one refined, or as checkpoints trained for "
         "Q4_0 expect (the default for Gemma 3 without --imatrix)")
      ->check(CLI::IsMember({"search", "best", "round"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--imatrix", arguments.imatrix,
                 "With q4_0, search or best: an importance matrix of the model, which weighs the errors")
      ->type_name(cli::type_of("FILE", cli::files_with({".mli", ".gguf"})));
  app.add_option("--max-seq", arguments.max_seq, "Lower the longest context to this many positions")
      ->check(CLI::Range(1u, 1u << 24));
  app.add_flag("--requantize", arguments.requantize,
               "Of a .gguf: convert matrices that are quantized in another way, too");
  app.add_flag("--dry-run", arguments.dry_run, "Print what would be written, and write nothing");
  app.add_flag("--json", arguments.json, "Print a report as one JSON object");
}

}  // namespace mlb_quant
