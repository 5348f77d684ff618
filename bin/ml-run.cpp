#include "common/find_tokenizer.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"
#include "ml_run/answer.hpp"
#include "ml_run/jsonl.hpp"
#include "ml_run/options.hpp"

#include <ml/generation.hpp>
#include <ml/hash.hpp>
#include <ml/input.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/sampling.hpp>
#include <ml/session.hpp>
#include <ml/tokenizer.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
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
  bool open_model();
  bool open_tokenizer();
  bool read_session();
  bool read_prompt();
  bool encode_prompt();
  bool create_session();
  bool eval_prompt();
  bool eval_prompt_with_logits();
  void generate();
  bool ends_text(std::uint32_t token) const {
    return std::find(ends_.begin(), ends_.end(), token) != ends_.end();
  }
  void save_session();
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
  std::optional<ml::Session> session_;
  std::vector<std::uint32_t> ends_;  // tokens that end a text
  std::string saved_;                // the session file's bytes, empty where there is none
  std::uint32_t n_saved_ = 0;        // its tokens
  std::string prompt_;
  std::vector<std::uint32_t> tokens_;   // to evaluate: what a session left pending, then the prompt
  std::vector<std::uint32_t> pending_;  // said, and not evaluated yet
  std::vector<float> logits_;
  double load_seconds_ = 0;
  double prompt_seconds_ = 0;
  double decode_seconds_ = 0;
};

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
  if (tokenizer_->eos()) ends_.push_back(*tokenizer_->eos());
  auto ends = ml::end_tokens(options_.model);
  if (!ends) return report(ends.error());
  ends_.insert(ends_.end(), ends->begin(), ends->end());
  return true;
}

bool Run::read_session() {
  std::error_code ignored;
  if (options_.session.empty() || !std::filesystem::exists(options_.session, ignored)) return true;
  auto bytes = ml::read_text(options_.session);
  if (!bytes) return report(bytes.error());
  saved_ = std::move(*bytes);
  const auto n_tokens = ml::Session::saved_tokens(std::as_bytes(std::span(saved_)));
  if (!n_tokens) return report(n_tokens.error(), options_.session);
  n_saved_ = *n_tokens;
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
  ml::EncodeOptions encode;
  if (!saved_.empty()) encode.bos = false;
  tokens_ = options_.tokens.empty() ? tokenizer_->encode(prompt_, encode) : options_.tokens;
  if (!tokens_.empty() || n_saved_ > 0) return true;
  return report({.status = ml::Status::arg, .message = "the prompt is empty, and the tokenizer adds no BOS"});
}

bool Run::create_session() {
  const std::uint64_t max_seq = model_->desc().max_seq;
  std::uint64_t ctx = options_.ctx;
  const std::uint64_t n_known = n_saved_ + tokens_.size();
  if (ctx == 0) ctx = std::min<std::uint64_t>(max_seq, n_known + options_.n);
  if (n_known > ctx) {
    return report(
        {.status = ml::Status::limit,
         .message = fmt::format("the prompt has {} tokens, but the context holds {}", n_known, ctx)},
        options_.model);
  }
  ml::SessionOptions session{
      .ctx = static_cast<std::uint32_t>(ctx),
      .batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch, n_known)),
      .activations = options_.activations,
      .threads = tool_.threads(),
      .target = tool_.target()};
  session.kv =
      options_.kv.value_or(options_.activations == ml::Activations::f32 ? ml::KvType::f32 : ml::KvType::f16);
  auto created = ml::Session::create(*model_, session);
  if (!created) return report(created.error(), options_.model);
  session_.emplace(std::move(*created));
  if (saved_.empty()) return true;
  auto pending = session_->restore(std::as_bytes(std::span(saved_)));
  if (!pending) return report(pending.error(), options_.session);
  tokens_.insert(tokens_.begin(), pending->begin(), pending->end());
  if (!tokens_.empty()) return true;
  return report(
      {.status = ml::Status::arg, .message = "the session left no token to go on from; give a prompt"},
      options_.session);
}

bool Run::eval_prompt() {
  const auto start = Clock::now();
  bool done = true;
  if (options_.digest || !options_.logits.empty()) {
    done = eval_prompt_with_logits();
  } else {
    // A session that is only prepared keeps its last token for the run that goes on.
    const bool prepare = !options_.session.empty() && options_.n == 0;
    const auto now = std::span(tokens_).first(tokens_.size() - (prepare ? 1 : 0));
    if (prepare) pending_ = {tokens_.back()};
    if (!now.empty()) {
      auto logits = session_->eval(now);
      if (!logits) return report(logits.error(), options_.model);
      logits_.assign(logits->begin(), logits->end());
    }
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

void Run::generate() {
  auto sampler = ml::Sampler::create(options_.sampling);
  if (!sampler) return tool_.fail(sampler.error());
  if (options_.n == 0) return;
  const std::size_t n_history = session_->tokens().size() - tokens_.size();
  for (const std::uint32_t token : session_->tokens()) sampler->accept(token);
  cli::Answer answer(tool_, options_, tokenizer_ ? &*tokenizer_ : nullptr);
  answer.begin(session_->tokens().first(n_history), tokens_);
  const auto start = Clock::now();
  std::uint32_t n_steps = 0;
  for (std::uint32_t i = 0; i < options_.n; ++i) {
    const std::uint32_t token = sampler->sample(logits_);
    pending_ = {token};
    if (ends_text(token) || !answer.write(token) || i + 1 == options_.n) break;
    sampler->accept(token);
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
  answer.end();
}

void Run::save_session() {
  if (options_.session.empty()) return;
  auto file = ml::OutputFile::create(options_.session, {.force = true, .inputs = {options_.model}});
  if (!file) return tool_.fail(ml::with_path(file.error(), options_.session));
  auto saved = session_->save(*file, pending_);
  if (saved) saved = file->commit();
  if (!saved) tool_.fail(ml::with_path(saved.error(), options_.session));
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
  if (const std::string problem = cli::usage_problem(options_); !problem.empty()) {
    return tool_.fail_usage(problem);
  }
  if (!open_model() || !open_tokenizer()) return;
  if (options_.jsonl) return cli::run_jsonl(tool_, options_, *model_, *tokenizer_, ends_);
  if (!read_session() || !read_prompt() || !encode_prompt() || !create_session() || !eval_prompt()) {
    return;
  }
  generate();
  save_session();
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
