#include "common/find_tokenizer.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"
#include "ml_run/options.hpp"

#include <ml/hash.hpp>
#include <ml/input.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/sampling.hpp>
#include <ml/session.hpp>
#include <ml/tokenizer.hpp>

#include <chrono>
#include <optional>

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string without_last_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

class Run {
 public:
  Run(cli::Tool& tool, const cli::RunOptions& options) : tool_(tool), options_(options) {}
  void operator()();

 private:
  bool check_usage();
  bool open_model();
  bool open_tokenizer();
  bool read_prompt();
  bool encode_prompt();
  bool create_session();
  bool eval_prompt();
  bool eval_prompt_with_logits();
  void generate();
  void write_token(std::uint32_t token);
  void print_digest(const std::string& what, const ml::Hasher& hasher);
  void print_stats();
  bool report(const ml::Error& error, const std::string& path = {}) {
    tool_.fail(ml::with_path(error, path));
    return false;
  }

  cli::Tool& tool_;
  const cli::RunOptions& options_;
  std::optional<ml::Model> model_;
  std::optional<ml::Tokenizer> tokenizer_;
  std::optional<ml::StreamDecoder> decoder_;
  std::optional<ml::Session> session_;
  std::string prompt_;
  std::vector<std::uint32_t> tokens_;
  std::vector<float> logits_;
  std::size_t n_written_ = 0;
  double load_seconds_ = 0;
  double prompt_seconds_ = 0;
  double decode_seconds_ = 0;
};

bool Run::check_usage() {
  const int sources = !options_.prompt.empty() + !options_.prompt_file.empty() + !options_.tokens.empty();
  if (sources > 1) {
    tool_.fail_usage("PROMPT, --prompt-file and --tokens exclude each other");
    return false;
  }
  const bool reads_stdin = sources == 0 || options_.prompt_file == "-";
  if (options_.model == "-" && reads_stdin) {
    tool_.fail_usage("MODEL and the prompt cannot both come from standard input");
    return false;
  }
  if (options_.logits == "-" && options_.n > 0) {
    tool_.fail_usage("--logits - needs -n 0, since text goes to standard output too");
    return false;
  }
  return true;
}

bool Run::open_model() {
  const auto start = Clock::now();
  auto model = ml::Model::open(options_.model, {.trust = options_.trust});
  if (!model) return report(model.error(), options_.model);
  model_.emplace(std::move(*model));
  load_seconds_ = seconds_since(start);
  return true;
}

bool Run::open_tokenizer() {
  const std::string path =
      options_.tokenizer.empty() ? cli::find_tokenizer(options_.model) : options_.tokenizer;
  const bool needs_text = options_.tokens.empty() || (!options_.ids && options_.n > 0);
  if (path.empty()) {
    if (!needs_text) return true;
    return report({.status = ml::Status::arg, .message = "no tokenizer beside the model; name one with -m"},
                  options_.model);
  }
  auto tokenizer = ml::Tokenizer::open(path);
  if (!tokenizer) return report(tokenizer.error(), path);
  tokenizer_.emplace(std::move(*tokenizer));
  decoder_.emplace(*tokenizer_);
  return true;
}

bool Run::read_prompt() {
  if (!options_.tokens.empty()) return true;
  if (!options_.prompt.empty()) {
    for (const std::string& word : options_.prompt)
      prompt_ += (&word == options_.prompt.data() ? "" : " ") + word;
    return true;
  }
  auto text = ml::read_text(options_.prompt_file.empty() ? "-" : options_.prompt_file);
  if (!text) return report(text.error());
  prompt_ = without_last_newline(std::move(*text));
  return true;
}

bool Run::encode_prompt() {
  tokens_ = options_.tokens.empty() ? tokenizer_->encode(prompt_) : options_.tokens;
  if (!tokens_.empty()) return true;
  return report({.status = ml::Status::arg, .message = "the prompt is empty, and the tokenizer adds no BOS"});
}

bool Run::create_session() {
  const std::uint64_t max_seq = model_->desc().max_seq;
  std::uint64_t ctx = options_.ctx;
  if (ctx == 0) ctx = std::min<std::uint64_t>(max_seq, tokens_.size() + options_.n);
  if (tokens_.size() > ctx) {
    return report(
        {.status = ml::Status::limit,
         .message = fmt::format("the prompt has {} tokens, but the context holds {}", tokens_.size(), ctx)},
        options_.model);
  }
  ml::SessionOptions session{
      .ctx = static_cast<std::uint32_t>(ctx),
      .batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch, tokens_.size())),
      .activations = options_.activations,
      .threads = tool_.threads(),
      .target = tool_.target()};
  session.kv =
      options_.kv.value_or(options_.activations == ml::Activations::f32 ? ml::KvType::f32 : ml::KvType::f16);
  auto created = ml::Session::create(*model_, session);
  if (!created) return report(created.error(), options_.model);
  session_.emplace(std::move(*created));
  return true;
}

bool Run::eval_prompt() {
  const auto start = Clock::now();
  bool done = true;
  if (options_.digest || !options_.logits.empty()) {
    done = eval_prompt_with_logits();
  } else {
    auto logits = session_->eval(tokens_);
    if (!logits) return report(logits.error(), options_.model);
    logits_.assign(logits->begin(), logits->end());
  }
  prompt_seconds_ = seconds_since(start);
  return done;
}

bool Run::eval_prompt_with_logits() {
  std::optional<ml::OutputFile> file;
  if (!options_.logits.empty()) {
    auto created =
        ml::OutputFile::create(options_.logits, {.force = tool_.force(), .inputs = {options_.model}});
    if (!created) return report(created.error(), options_.logits);
    file.emplace(std::move(*created));
  }
  ml::Hasher hasher;
  ml::Result<void> written;
  const auto done = session_->eval(tokens_, [&](std::uint32_t, std::span<const float> row) {
    hasher.update(std::as_bytes(row));
    if (file && written) written = file->write(std::as_bytes(row));
    logits_.assign(row.begin(), row.end());
  });
  if (!done) return report(done.error(), options_.model);
  if (file && written) written = file->commit();
  if (!written) return report(written.error(), options_.logits);
  if (options_.digest) print_digest("prompt", hasher);
  return true;
}

void Run::print_digest(const std::string& what, const ml::Hasher& hasher) {
  tool_.flush();
  fmt::print(stderr, "digest {} {}\n", what, hasher.hex());
}

void Run::write_token(std::uint32_t token) {
  if (options_.ids) {
    tool_.print("{}{}", n_written_ == 0 ? "" : " ", token);
  } else {
    tool_.print(decoder_->push({&token, 1}));
  }
  tool_.flush();
  ++n_written_;
}

void Run::generate() {
  auto sampler = ml::Sampler::create(options_.sampling);
  if (!sampler) return tool_.fail(sampler.error());
  for (const std::uint32_t token : tokens_) sampler->accept(token);
  if (decoder_ && !options_.ids) {
    // BOS is no text, and what follows it starts like a text of its own.
    const bool after_bos = tokenizer_->bos() == tokens_.front();
    const std::string prompt = decoder_->push(std::span(tokens_).subspan(after_bos ? 1 : 0));
    if (options_.echo) tool_.print(prompt);
  } else if (options_.echo) {
    for (const std::uint32_t token : tokens_) write_token(token);
  }
  const auto start = Clock::now();
  std::uint32_t n_steps = 0;
  for (std::uint32_t i = 0; i < options_.n; ++i) {
    const std::uint32_t token = sampler->sample(logits_);
    if (tokenizer_ && tokenizer_->eos() == token) break;
    write_token(token);
    sampler->accept(token);
    if (i + 1 == options_.n) break;
    if (session_->position() == session_->ctx()) {
      tool_.note(fmt::format("stopped: the context of {} positions is full", session_->ctx()));
      break;
    }
    const auto logits = session_->eval({&token, 1});
    if (!logits) return tool_.fail(ml::with_path(logits.error(), options_.model));
    logits_.assign(logits->begin(), logits->end());
    ++n_steps;
    if (options_.digest) {
      ml::Hasher hasher;
      hasher.update(std::as_bytes(*logits));
      print_digest(fmt::format("step {}", n_steps), hasher);
    }
  }
  decode_seconds_ = n_steps == 0 ? 0 : seconds_since(start) / n_steps;
  if (decoder_ && !options_.ids) tool_.print(decoder_->finish());
  if (options_.n > 0) tool_.print("\n");
}

void Run::print_stats() {
  tool_.flush();
  fmt::print(stderr, "load    {:9.1f} ms  {} of weights\n", load_seconds_ * 1e3,
             cli::human_size(model_->n_bytes()));
  fmt::print(stderr, "prompt  {:9.1f} ms  {} tokens, {:.1f} tokens/s\n", prompt_seconds_ * 1e3,
             tokens_.size(), static_cast<double>(tokens_.size()) / prompt_seconds_);
  if (decode_seconds_ > 0) {
    fmt::print(stderr, "decode  {:9.1f} ms  a token, {:.1f} tokens/s\n", decode_seconds_ * 1e3,
               1 / decode_seconds_);
  }
  fmt::print(stderr, "memory  {:>12}  KV cache of {} positions, {} of scratch\n",
             cli::human_size(session_->kv_bytes()), session_->ctx(),
             cli::human_size(session_->scratch_bytes()));
  fmt::print(stderr, "target  {:>12}\n", ml::target_name(tool_.target()));
}

void Run::operator()() {
  if (!check_usage() || !open_model() || !open_tokenizer() || !read_prompt() || !encode_prompt() ||
      !create_session() || !eval_prompt()) {
    return;
  }
  generate();
  if (options_.stats) print_stats();
}

}  // namespace

int main(int argc, char** argv) {
  cli::RunOptions options;
  cli::Tool tool("ml-run", "Writes text with a language model.",
                 "ml-run model.mlb -n 100 \"Once upon a time\"");
  cli::declare_run_options(tool, options);
  return tool.main(argc, argv, [&] { Run(tool, options)(); });
}
