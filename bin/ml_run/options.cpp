#include "ml_run/options.hpp"

#include <map>

namespace cli {

void declare_run_options(Tool& tool, RunOptions& options) {
  CLI::App& app = tool.app();
  app.add_option("MODEL", options.model, "a .mlb file or a model folder; - is standard input")->required();
  app.add_option("PROMPT", options.prompt, "the prompt; standard input when none is given");
  app.add_option("-p,--prompt-file", options.prompt_file, "read the prompt from this file")
      ->type_name("FILE");
  app.add_option("-m,--tokenizer", options.tokenizer,
                 "a .mlt or tokenizer.json (default: the one beside the model)")
      ->type_name("FILE");
  app.add_option("--tokens", options.tokens, "prompt as token ids, separated by commas")->delimiter(',');
  app.add_option("-n,--n-predict", options.n, "tokens to write at most")->capture_default_str();
  app.add_option("-c,--ctx", options.ctx, "positions of context (default: as many as needed)");
  app.add_option("-b,--batch", options.batch, "prompt tokens a pass; changes no bit")
      ->check(CLI::Range(1u, 1u << 24))
      ->capture_default_str();
  app.add_option("--temp", options.sampling.temperature, "temperature; 0 takes the likeliest token")
      ->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "draw from the K likeliest tokens; 0: all")
      ->capture_default_str();
  app.add_option("--top-p", options.sampling.top_p, "draw from the smallest set of this probability")
      ->capture_default_str();
  app.add_option("--min-p", options.sampling.min_p,
                 "drop tokens below this share of the best one's probability")
      ->capture_default_str();
  app.add_option("--repeat-penalty", options.sampling.repeat_penalty,
                 "make the last 64 tokens less likely; 1: off")
      ->capture_default_str();
  app.add_option("--seed", options.sampling.seed, "seed of the drawing")->capture_default_str();
  app.add_option("--acts", options.activations, "activations of quantized matrices: q8 or f32")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ml::Activations>{
          {"q8", ml::Activations::q8}, {"f32", ml::Activations::f32}}));
  app.add_option("--kv", options.kv, "KV cache: f16, f32 or q8 (default: f16; f32 with --acts f32)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ml::KvType>{
          {"f16", ml::KvType::f16}, {"f32", ml::KvType::f32}, {"q8", ml::KvType::q8}}));
  app.add_option("--stop", options.stops, "end before this text; may be repeated")->allow_extra_args(false);
  app.add_option("--session", options.session,
                 "go on from this file where it exists, and save to it at the end")
      ->type_name("FILE");
  app.add_flag("--chat", options.chat,
               "the prompt is a message in the model's chat template; without one, talk");
  app.add_option("--system", options.system, "system message of --chat")->type_name("TEXT");
  app.add_flag("--jsonl", options.jsonl,
               "answer JSON objects from standard input, one a line, with one each");
  app.add_option("--parallel", options.parallel, "prompts of --jsonl under way at a time; changes no answer")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_flag("--ids", options.ids, "print token ids instead of text");
  app.add_flag("--echo", options.echo, "print the prompt first");
  app.add_option("--logits", options.logits,
                 "write the logits of every prompt position to this file (float32)")
      ->type_name("FILE");
  app.add_flag("--digest", options.digest, "print XXH3-128 of the prompt's and each step's logits on stderr");
  app.add_flag("--stats", options.stats, "print speeds and memory on stderr");
  app.add_flag("--trust", options.trust, "skip the pass over the quants of a file that was checked before");
  tool.add_threads();
  tool.add_target();
  tool.add_force();
}

std::string usage_problem(const RunOptions& options) {
  const int sources = !options.prompt.empty() + !options.prompt_file.empty() + !options.tokens.empty();
  if (sources > 1) return "PROMPT, --prompt-file and --tokens exclude each other";
  if (options.jsonl && (sources != 0 || options.echo || options.digest || options.stats ||
                        !options.logits.empty() || !options.session.empty())) {
    return "--jsonl takes its prompts from standard input and excludes PROMPT, --prompt-file, --tokens, "
           "--echo, "
           "--digest, --logits, --session and --stats";
  }
  if (options.chat && (!options.tokens.empty() || options.jsonl || !options.session.empty())) {
    return "--chat excludes --tokens, --jsonl and --session";
  }
  if (!options.system.empty() && !options.chat) return "--system needs --chat";
  const bool reads_stdin = sources == 0 || options.prompt_file == "-";
  if (options.model == "-" && reads_stdin) return "MODEL and the prompt cannot both come from standard input";
  if (options.logits == "-" && options.n > 0) {
    return "--logits - needs -n 0, since text goes to standard output too";
  }
  if (options.ids && !options.stops.empty() && !options.jsonl)
    return "--stop looks for text and excludes --ids";
  if (!options.session.empty() && options.n == 0 && (options.digest || !options.logits.empty())) {
    return "--session with -n 0 leaves the last token for later: no --digest and no --logits";
  }
  const auto sampler = ml::Sampler::create(options.sampling);
  return sampler ? "" : sampler.error().message;
}

}  // namespace cli
