#include "ml_run/options.hpp"

#include "common/number_list.hpp"
#include "common/same_path.hpp"
#include "common/shard.hpp"

#include <ml/tokenizer.hpp>

#include <CLI/CLI.hpp>

#include <limits>
#include <map>
#include <random>

namespace cli {

namespace {

std::vector<std::uint32_t> parse_tokens(const std::string& text) {
  auto tokens = parse_numbers(text);
  if (!tokens)
    throw CLI::ValidationError("--tokens", fmt::format("is '{}', must be token ids, like 1,403,407", text));
  return *std::move(tokens);
}

}  // namespace

void declare_run_options(Tool& tool, RunOptions& options) {
  CLI::App& app = tool.app();
  const auto any_count = CLI::Range(0u, std::numeric_limits<std::uint32_t>::max());
  app.add_option("MODEL", options.model, "A .mlb, .mog or .gguf file or a model folder; - is standard input");
  app.add_option("PROMPT", options.prompt, "The prompt; standard input when none is given");
  app.add_option("-p", options.p, "With MODEL: as --prompt-file; without: as --prompt")
      ->type_name("FILE|TEXT");
  app.add_option("-m", options.m, "With MODEL: as --tokenizer; without: as --model")
      ->type_name(type_of("FILE", files_with({".mlt", ".json", ".mlb", ".mog", ".gguf"})));
  app.add_option("--prompt-file,--file", options.prompt_file, "Read the prompt from this file")
      ->type_name("FILE");
  app.add_option("--prompt", options.prompt_text, "The prompt itself");
  app.add_option("--model", options.named_model, "MODEL; all operands are then PROMPT")->type_name("MODEL");
  app.add_option("--tokenizer", options.tokenizer,
                 "A .mlt, tokenizer.json, .gguf or .mog (default: the model's own, or one beside it)")
      ->type_name(type_of("FILE", tokenizer_files()));
  app.add_option_function<std::string>(
         "--tokens", [&options](const std::string& text) { options.tokens = parse_tokens(text); },
         "Prompt as token ids, separated by commas")
      ->type_name("ID[,ID...]");
  app.add_option("-n,--n-predict,--predict", options.n, "Tokens to write at most; -1: no limit")
      ->check(any_count)
      ->capture_default_str();
  tool.allow_minus_one("-n", [] { return std::numeric_limits<std::uint32_t>::max(); });
  app.add_option("-c,--ctx,--ctx-size", options.ctx, "Positions of context (default: as many as needed)")
      ->check(any_count);
  app.add_option("-b,--batch,--batch-size", options.batch, "Prompt tokens a pass; changes no bit")
      ->check(CLI::Range(1u, 1u << 24))
      ->capture_default_str();
  app.add_option("--temp", options.sampling.temperature, "Temperature; 0 takes the likeliest token")
      ->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "Draw from the K likeliest tokens; 0: all")
      ->check(any_count)
      ->capture_default_str();
  app.add_option("--top-p", options.sampling.top_p, "Draw from the smallest set of this probability")
      ->capture_default_str();
  app.add_option("--min-p", options.sampling.min_p,
                 "Drop tokens below this share of the best one's probability")
      ->capture_default_str();
  app.add_option("--repeat-penalty", options.sampling.repeat_penalty,
                 "Make the last 64 tokens less likely; 1: off")
      ->capture_default_str();
  app.add_option("-s,--seed", options.sampling.seed, "Seed of the drawing; -1: a random one, noted on stderr")
      ->capture_default_str();
  tool.allow_minus_one("--seed", [&options] {
    std::random_device random;
    options.random_seed = true;
    return std::uint64_t{random()};
  });
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
  app.add_option("--stop", options.stops, "End before this text; may be repeated")->allow_extra_args(false);
  app.add_option("--session", options.session,
                 "Go on from this file where it exists, and save to it at the end")
      ->type_name("FILE");
  app.add_option("--lookup", options.lookup,
                 "Guess up to N tokens from earlier text and check them in one pass; changes no bit")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--draft,--model-draft", options.draft, "Let this smaller model guess; changes no bit")
      ->type_name("MODEL");
  app.add_option("--n-draft", options.n_draft, "Tokens that --draft guesses at most (default: 8)")
      ->check(CLI::Range(1u, 1024u));
  app.add_flag("--chat", options.chat,
               "The prompt is a message in the model's chat template; without one, talk");
  app.add_option("--system,--system-prompt", options.system, "System message of --chat")->type_name("TEXT");
  app.add_option("--date", options.date, "The day that --chat tells a template that asks, like 2026-11-30")
      ->type_name("DATE");
  app.add_flag("--jsonl", options.jsonl,
               "Answer JSON objects from standard input, one a line, with one each");
  app.add_option("--parallel", options.parallel, "Prompts of --jsonl under way at a time; changes no answer")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_flag("--ids", options.ids, "Print token ids instead of text");
  app.add_flag("--echo", options.echo, "Print the prompt first");
  app.add_flag("--json", options.json, "Print the answer at its end, as one JSON object");
  app.add_option("--logits", options.logits,
                 "Write the logits of every prompt position to this file (float32)")
      ->type_name("FILE");
  app.add_option("--routes", options.routes,
                 "Write the experts that routers choose for each token to this file, as JSON lines")
      ->type_name("FILE");
  app.add_flag("--digest", options.digest, "Print XXH3-128 of the prompt's and each step's logits on stderr");
  app.add_flag("--stats", options.stats, "Print speeds and memory on stderr");
  app.add_flag("--trust", options.trust, "Skip the pass over the quants of a file that was checked before");
  app.add_option("--imatrix", options.imatrix,
                 "Write no text: collect an importance matrix over the prompt into this file")
      ->type_name("FILE");
  app.add_option("--chunk", options.chunk, "Tokens that --imatrix reads from an empty context (default: 512)")
      ->check(CLI::Range(1u, 1u << 24));
  app.add_flag("--all-logits", options.all_logits,
               "With --imatrix: every token counts for the classifier, not the last one of a chunk");
  app.add_flag("--resume", options.resume, "With --imatrix: go on from the file where it exists");
  app.add_option("--save-every", options.save_every,
                 "Chunks after which --imatrix saves (default: every 30 seconds)")
      ->check(CLI::Range(1u, 1u << 31));
  app.add_option("--shard", options.shard,
                 "With --imatrix: the Kth of N parts of the text's chunks; imatrix-merge joins them")
      ->type_name("K/N");
  app.add_flag("--dry-run", options.dry_run,
               "With --imatrix: print what would be collected, and write nothing");
  tool.know_llama_options();
  tool.add_threads();
  tool.add_output();
  tool.add_verbose();
}

ml::SessionOptions session_options(const Tool& tool, const RunOptions& options) {
  const bool collects = !options.imatrix.empty();
  const auto activations =
      options.activations.value_or(collects ? ml::Activations::f32 : ml::Activations::q8);
  return {.ctx = options.ctx,
          .batch = options.batch,
          .activations = activations,
          .kv = options.kv,
          .threads = tool.threads(),
          .target = tool.target()};
}

std::string usage_problem(const Tool& tool, const RunOptions& options) {
  if (!options.shard.empty() && !parse_shard(options.shard))
    return fmt::format("--shard is '{}', must be K/N with K from 1 to N", options.shard);
  const int sources = !options.prompt.empty() + !options.prompt_file.empty() + !options.tokens.empty();
  if (sources > 1) return "PROMPT, --prompt-file and --tokens exclude each other";
  if (options.jsonl && (sources != 0 || options.echo || options.digest || options.stats ||
                        !options.logits.empty() || !options.session.empty())) {
    return "--jsonl takes its prompts from standard input and excludes PROMPT, --prompt-file, --tokens, "
           "--echo, "
           "--digest, --logits, --session and --stats";
  }
  if (options.json && (options.jsonl || options.echo || !options.imatrix.empty()))
    return "--json excludes --jsonl, --echo and --imatrix";
  if (options.chat && (!options.tokens.empty() || options.jsonl || !options.session.empty())) {
    return "--chat excludes --tokens, --jsonl and --session";
  }
  if (options.imatrix.empty() && (options.chunk != 0 || options.save_every != 0 || options.all_logits ||
                                  options.resume || !options.shard.empty() || options.dry_run)) {
    return "--chunk, --all-logits, --resume, --save-every, --shard and --dry-run need --imatrix";
  }
  if (!options.imatrix.empty() && (options.jsonl || options.chat || !options.session.empty() ||
                                   !options.logits.empty() || options.digest || options.stats ||
                                   options.ctx != 0 || options.lookup != 0 || !options.draft.empty())) {
    return "--imatrix excludes --jsonl, --chat, --session, --logits, --digest, --stats, --ctx, --lookup and "
           "--draft";
  }
  if (!options.imatrix.empty() && !options.dry_run && !tool.output().empty())
    return "--imatrix names its file itself and excludes --output";
  if (!options.routes.empty() && (options.jsonl || options.chat || !options.imatrix.empty() ||
                                  options.lookup != 0 || !options.draft.empty())) {
    return "--routes excludes --jsonl, --chat, --imatrix, --lookup and --draft";
  }
  if (options.resume && names_standard_output(options.imatrix))
    return "--resume needs a file to go on from, not standard output";
  if (options.n_draft != 0 && options.draft.empty()) return "--n-draft needs --draft";
  if (options.lookup != 0 && !options.draft.empty()) return "--lookup and --draft exclude each other";
  if (options.jsonl && (options.lookup != 0 || !options.draft.empty()))
    return "--jsonl excludes --lookup and --draft";
  if (!options.system.empty() && !options.chat) return "--system needs --chat";
  if (!options.date.empty() && !options.chat) return "--date needs --chat";
  const bool reads_stdin = sources == 0 || options.prompt_file == "-";
  if (options.model == "-" && reads_stdin) return "MODEL and the prompt cannot both come from standard input";
  if ((options.tokenizer == "-") + (options.model == "-") + (options.draft == "-") +
          (reads_stdin || options.jsonl) >
      1) {
    return "--tokenizer, MODEL, --draft and the prompt cannot share standard input";
  }
  for (const std::string& stop : options.stops) {
    if (stop.empty()) return "--stop is empty, must be a text";
    if (ml::find_invalid_utf8(stop)) return fmt::format("--stop is '{}', must be UTF-8", stop);
  }
  const bool logits_out = names_standard_output(options.logits);
  const bool routes_out = names_standard_output(options.routes);
  if (logits_out && options.n > 0) return "--logits - needs -n 0, since text goes to standard output too";
  if (routes_out && (options.n > 0 || logits_out))
    return "--routes - needs -n 0 and no --logits -, since both go to standard output too";
  const std::string shared = same_output_problem({{"--output", tool.output()},
                                                  {"--routes", options.routes},
                                                  {"--session", options.session},
                                                  {"--logits", options.logits}});
  if (!shared.empty()) return shared;
  if (names_standard_output(options.session))
    return "--session needs a file: it is read back, and the answer goes to standard output";
  if (options.ids && !options.stops.empty() && !options.jsonl && !options.json)
    return "--stop looks for text and excludes --ids";
  if (!options.session.empty() && options.n == 0 && (options.digest || !options.logits.empty())) {
    return "--session with -n 0 leaves the last token for later: no --digest and no --logits";
  }
  const auto sampler = ml::Sampler::create(options.sampling);
  if (sampler) return "";
  const std::string& message = sampler.error().message;  // "top-p is 2, must be ..."
  if (message.starts_with("temperature")) return "--temp" + message.substr(message.find(' '));
  if (message.starts_with("repeat penalty")) return "--repeat-penalty" + message.substr(14);
  return "--" + message;
}

}  // namespace cli
