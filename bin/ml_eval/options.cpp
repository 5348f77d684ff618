#include "ml_eval/options.hpp"

#include "common/html_page.hpp"
#include "common/same_path.hpp"
#include "common/shard.hpp"
#include "common/standard_input.hpp"
#include "ml_eval/texts.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace ml_eval {

namespace {

// Options of an evaluation, which --merge does not make.
std::string merge_problem(const CLI::App& app, const Options& options) {
  constexpr std::array<std::string_view, 13> kTaken{
      "MODEL",  "TEXT-FILE", "--merge", "--partial", "--json",    "--format", "--by-position",
      "--html", "--force",   "--quiet", "--target",  "--verbose", "--output"};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && std::find(kTaken.begin(), kTaken.end(), name) == kTaken.end())
      return fmt::format(
          "--merge joins results and takes only --partial, --json, --format, --by-position and --html, not "
          "{}",
          name);
  }
  if (options.model.empty()) return "--merge needs results of --json: no operand names one";
  std::vector<std::string> inputs = options.texts;
  inputs.push_back(options.model);
  return cli::standard_input_problem(inputs);
}

}  // namespace

void declare_options(cli::Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  CLI::Option* model =
      app.add_option("MODEL", options.model, "A model, as ml-run takes it; with --merge a result of --json");
  model->required();
  app.add_option("TEXT-FILE", options.texts, "Texts; - or none: standard input");
  app.add_option("-m,--tokenizer", options.tokenizer,
                 "A .mlt, tokenizer.json, .gguf or .mog (default: the model's own, or one beside it)")
      ->type_name(cli::type_of("FILE", cli::tokenizer_files()));
  app.add_option("--split", options.split,
                 "A file holds several texts with TEXT between them; \\n is a newline, \\t a tab")
      ->type_name("TEXT");
  app.add_flag("--bos", options.bos, "Begin windows with BOS (default: as the tokenizer says)");
  app.add_flag("--no-bos", options.no_bos, "Do not");
  app.add_option("-c,--ctx", options.ctx,
                 "Tokens that a window reads; default: 512, or what the model allows")
      ->check(CLI::Range(1u, 1u << 24));
  app.add_option("--stride", options.stride, "Tokens from one window to the next; default: those of --ctx")
      ->check(CLI::Range(1u, 1u << 24));
  app.add_option("-b,--batch", options.batch, "Tokens a pass; changes no bit")
      ->check(CLI::Range(1u, 1u << 24))
      ->capture_default_str();
  app.add_option("--windows", options.windows, "Read this many windows of each text at most; default: all")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--shard", options.shard,
                 "Every Nth window only, from the Kth on; --merge joins the results")
      ->type_name("K/N");
  app.add_option("--acts", options.activations, "What quantized matrices are multiplied with")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ml::Activations>{
          {"q8", ml::Activations::q8}, {"f32", ml::Activations::f32}}));
  app.add_option(
         "--kv", options.kv,
         "KV cache; default: the model's own, else f16 (with latent attention bf16), with --acts f32 f32")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ml::KvType>{{"bf16", ml::KvType::bf16},
                                                                            {"f16", ml::KvType::f16},
                                                                            {"f32", ml::KvType::f32},
                                                                            {"fp4", ml::KvType::fp4},
                                                                            {"fp8", ml::KvType::fp8},
                                                                            {"q8", ml::KvType::q8}}));
  app.add_option("--save-logits", options.save_logits, "Write the logits to this file, for --against")
      ->type_name("FILE");
  app.add_option("--bits", options.precision, "Bits of a saved logit; default: 16")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ml::LogitPrecision>{
          {"16", ml::LogitPrecision::bits16}, {"32", ml::LogitPrecision::bits32}}));
  app.add_option("--against", options.against, "Compare with a model, or with what --save-logits wrote")
      ->type_name(cli::type_of("MODEL|FILE", cli::files_with({".mlb", ".mog", ".gguf", ".logits"})));
  app.add_flag("--by-position", options.by_position, "A row for each range of positions in the window");
  app.add_flag("--by-window", options.by_window, "A row for each window");
  app.add_flag(
         "--merge",
         [&options, model](std::int64_t) {
           options.merge = true;
           model->required(false);  // merge_problem knows what is missing
         },
         "Join results of --json into one; all operands are such files")
      ->type_name(cli::operands_are(cli::files_with({".json", ".jsonl"})));
  app.add_flag("--partial", options.partial, "With --merge: shards may be missing");
  app.add_option("--format", options.format,
                 "How it is printed; csv: a line, or one for each window (--by-window) or range of positions "
                 "(--by-position)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_flag(
      "--json", [&options](std::int64_t) { options.format = "json"; },
      "The same as --format json: one JSON object, with what --merge needs");
  app.add_option("--html", options.html, "Write the result to this file as a page with charts")
      ->type_name("FILE");
  app.add_flag("--trust", options.trust, "Skip the pass over the quants of a file that was checked before");
  app.add_flag("--dry-run", options.dry_run, "Print what would be read and written, and do neither");
  tool.know_llama_options();
  tool.add_threads();
  tool.add_output();
  tool.add_verbose();
}

std::string finish_options(cli::Tool& tool, Options& options) {
  const CLI::App& app = tool.app();
  if (options.bos && options.no_bos) return "--bos and --no-bos exclude each other";
  if (!options.shard.empty()) {
    const auto shard = cli::parse_shard(options.shard);
    if (!shard) return fmt::format("--shard is '{}', must be K/N with K from 1 to N", options.shard);
    options.shard_index = shard->index;
    options.n_shards = shard->n;
  }
  if (options.split.empty() && app.get_option("--split")->count() > 0)
    return "--split is empty, must be a text";
  if (!unescape(options.split)) return fmt::format("--split is '{}': {}", options.split, kEscapes);
  if (const std::string problem = cli::html_problem(options.html); !problem.empty()) return problem;
  const std::string shared = cli::same_output_problem(
      {{"--output", tool.output()}, {"--html", options.html}, {"--save-logits", options.save_logits}});
  if (!shared.empty()) return shared;
  if (options.format == "csv" && options.by_window && options.by_position)
    return "--format csv takes one of --by-window and --by-position";
  if (options.merge) return merge_problem(app, options);
  if (options.partial) return "--partial needs --merge";
  if (options.precision && options.save_logits.empty()) return "--bits needs --save-logits";
  if (cli::names_standard_output(options.save_logits))
    return "--save-logits needs a file: the result goes to standard output";
  std::vector<std::string> inputs = options.texts;
  if (inputs.empty()) inputs.push_back("-");
  for (const std::string& name : {options.model, options.tokenizer, options.against}) inputs.push_back(name);
  return cli::standard_input_problem(inputs);
}

}  // namespace ml_eval
