#include "ml_bench/options.hpp"

#include "common/html_page.hpp"
#include "common/number_list.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "ml_eval/texts.hpp"

#include <ml/inspect.hpp>
#include <ml/target.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace ml_bench {

namespace {

constexpr std::array kFormats{"md", "csv", "json", "jsonl"};

// As with llama-bench, -o may name a format; a file of such a name is ./csv.
std::string take_format(cli::Tool& tool, Options& options) {
  const std::string& output = tool.output();
  if (std::find(kFormats.begin(), kFormats.end(), output) == kFormats.end()) return "";
  const bool given =
      tool.app().get_option("--format")->count() + tool.app().get_option("--json")->count() > 0;
  if (given && output != options.format)
    return fmt::format("-o {0} is a format, and so is {1}; a file of that name is ./{0}", output,
                       options.format);
  options.format = output;
  tool.set_output("");
  return "";
}

constexpr std::uint32_t kMaxTokens = 1u << 24;

void add_list(CLI::App& app, const std::string& names, std::vector<std::uint32_t>& list, std::uint32_t max,
              const std::string& description, const std::string& shown) {
  const std::string name = names.substr(names.find("--"));
  app.add_option_function<std::string>(
         names,
         [&list, max, name](const std::string& text) {
           auto numbers = cli::parse_numbers(text);
           if (!numbers || std::any_of(numbers->begin(), numbers->end(), [max](auto n) { return n > max; })) {
             throw CLI::ValidationError(
                 name, fmt::format("is '{}', must be numbers up to {}, like 128,512", text, max));
           }
           list = *std::move(numbers);
         },
         description)
      ->type_name("N[,N...]")
      ->default_str(shown);
}

std::string model_problem(const Options& options) {
  if (!options.texts.empty()) return "--text needs --encodings: ml-eval scores models";
  if (!options.split.empty() || options.ctx != 0 || !options.tokenizer.empty())
    return "--split, --ctx and --tokenizer need --text";
  return options.models.empty() ? "MODEL is missing" : "";
}

std::string encodings_problem(const cli::Tool& tool, Options& options) {
  if (options.models.size() > 1)
    return fmt::format("{}: --encodings takes one folder, that of the recipe's files", options.models[1]);
  if (!options.baseline.empty() || options.digest) return "--encodings excludes --baseline and --digest";
  for (const auto& list : {options.prompts, options.decodes, options.depths, options.threads}) {
    if (list.size() > 1) return "--encodings takes one value of -p, -n, -d, -t and --target each";
  }
  if (tool.targets().size() > 1) return "--encodings takes one value of -p, -n, -d, -t and --target each";
  if (options.texts.empty() && (!options.split.empty() || options.ctx != 0 || !options.tokenizer.empty()))
    return "--split, --ctx and --tokenizer need --text";
  if (!ml_eval::unescape(options.split))
    return fmt::format("--split is '{}': {}", options.split, ml_eval::kEscapes);
  return cli::standard_input_problem(options.texts);
}

}  // namespace

void declare_options(cli::Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  app.add_option("MODEL", options.models,
                 "Models, each as ml-run takes it; with --encodings the checkpoint's folder");
  app.add_option("-m,--model", options.more_models, "One more MODEL; may be repeated")
      ->type_name("MODEL")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_list(app, "-p,--n-prompt", options.prompts, kMaxTokens, "Lengths of prompts to read; 0: none", "512");
  add_list(app, "-n,--n-gen", options.decodes, kMaxTokens,
           "Numbers of tokens to write, one at a time; 0: none", "128");
  add_list(app, "-d,--n-depth", options.depths, kMaxTokens, "Tokens that are in the context before", "0");
  add_list(app, "-t,--threads", options.threads, 4096, "Numbers of threads; 0: all cores", "0");
  app.add_option("-r,--repetitions", options.repetitions, "Measurements of each test, after one to warm up")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  app.add_flag("--no-warmup", options.no_warmup, "Measure from the first time on");
  app.add_option("-b,--batch,--batch-size", options.batch, "Prompt tokens a pass")
      ->check(CLI::Range(1u, kMaxTokens))
      ->capture_default_str();
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
  app.add_option("--format", options.format, "How results are printed")
      ->check(CLI::IsMember(std::vector<std::string>(kFormats.begin(), kFormats.end())))
      ->capture_default_str();
  app.add_option("--baseline", options.baseline, "Compare with what --format json or jsonl wrote")
      ->type_name(cli::type_of("FILE", cli::files_with({".json", ".jsonl"})));
  app.add_option("--fail-above", options.fail_above,
                 "With --baseline: exit 1 where a test is slower by more percent than this and the noise")
      ->type_name("PCT");
  app.add_flag("--digest", options.digest,
               "Add XXH3-128 of the logits; another one than the baseline's fails");
  app.add_flag(
      "--json", [&options](std::int64_t) { options.format = "jsonl"; }, "The same as --format jsonl");
  std::vector<std::string> items = cli::mog_encoding_names();
  items.emplace_back("recipe");
  app.add_option("--encodings", options.encodings,
                 "Pack a checkpoint by a recipe of mog-pack, once for each item of the list, and compare: "
                 "ENCODING for all matrices, GLOB=ENCODING, recipe, or several joined by +")
      ->type_name(cli::type_of("RECIPE-FILE ITEM[,ITEM...]",
                               std::vector{cli::recipe_files(), cli::list_of(items, ",+=")}))
      ->expected(2);
  app.add_option(
         "--text", options.texts,
         "With --encodings: a text for perplexity, and KL divergence from the first; may be given again")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--split", options.split,
                 "A --text holds several texts with TEXT between them; \\n is a newline, \\t a tab")
      ->type_name("TEXT");
  app.add_option("-c,--ctx", options.ctx, "Tokens of a --text that a window reads; default: 512")
      ->check(CLI::Range(1u, kMaxTokens));
  app.add_option("--tokenizer", options.tokenizer,
                 "Of a --text; default: the one that the recipe packs, or one beside the checkpoint")
      ->type_name(cli::type_of("FILE", cli::tokenizer_files()));
  app.add_option("--html", options.html, "Write the result to this file as a page with charts")
      ->type_name("FILE");
  app.add_flag("--trust", options.trust, "Skip the pass over the quants of files that were checked before");
  tool.know_llama_options();
  tool.allow_targets();
  tool.add_output();
  tool.add_verbose();
}

std::string finish_options(cli::Tool& tool, Options& options) {
  if (options.split.empty() && tool.app().get_option("--split")->count() > 0)
    return "--split is empty, must be a text";
  if (const std::string problem = take_format(tool, options); !problem.empty()) return problem;
  options.models.insert(options.models.begin(), options.more_models.begin(), options.more_models.end());
  options.more_models.clear();
  if (const std::string problem = cli::html_problem(options.html); !problem.empty()) return problem;
  const std::string shared =
      cli::same_output_problem({{"--output", tool.output()}, {"--html", options.html}});
  if (!shared.empty()) return shared;
  const auto none = [](const std::vector<std::uint32_t>& list) {
    return std::all_of(list.begin(), list.end(), [](std::uint32_t n) { return n == 0; });
  };
  if (none(options.prompts) && none(options.decodes)) return "-p and -n are all 0: nothing to measure";
  if (options.fail_above && options.baseline.empty()) return "--fail-above needs --baseline";
  if (options.fail_above && !(*options.fail_above >= 0))
    return fmt::format("--fail-above is {}, must be at least 0", *options.fail_above);
  if (options.fail_above && options.repetitions < kLeastSamples)
    return fmt::format("--fail-above needs -r {} or more: fewer show no noise", kLeastSamples);
  if (std::count(options.models.begin(), options.models.end(), "-") + (options.baseline == "-") > 0)
    return "models are opened more than once, so they and the baseline must be files";
  return options.encodings.empty() ? model_problem(options) : encodings_problem(tool, options);
}

std::vector<std::string> inputs_of(const Options& options) {
  std::vector<std::string> inputs = options.texts;
  std::vector<std::string> models = options.models;
  models.push_back(options.tokenizer);
  for (const std::string& name : models) {
    if (name.empty()) continue;
    for (std::string& file : ml::input_files(name)) inputs.push_back(std::move(file));
  }
  if (!options.baseline.empty()) inputs.push_back(options.baseline);
  return inputs;
}

}  // namespace ml_bench
