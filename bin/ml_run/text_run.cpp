// The prompt, the answer, and what is said about them.

#include "ml_run/text_run.hpp"

#include "common/progress.hpp"
#include "common/text.hpp"
#include "ml_run/answer.hpp"
#include "ml_run/collect.hpp"
#include "ml_run/jsonl.hpp"

#include <ml/inspect.hpp>
#include <ml/little_endian.hpp>
#include <ml/output.hpp>
#include <ml/sampling.hpp>

#include <unistd.h>

#include <cmath>
#include <iostream>
#include <utility>

namespace cli {

// Everything that an output must not replace.
std::vector<std::string> TextRun::inputs() const {
  std::vector<std::string> files{"-"};
  if (!options_.prompt_file.empty()) files.push_back(options_.prompt_file);
  for (const std::string& input : {options_.model, options_.draft, tokenizer_path_}) {
    if (input.empty()) continue;
    for (std::string& file : ml::input_files(input)) files.push_back(std::move(file));
  }
  return files;
}

bool TextRun::eval_prompt() {
  const auto start = Clock::now();
  n_history_ = std::ssize(session_->tokens());
  bool done = true;
  if (options_.digest || !options_.logits.empty()) {
    done = eval_prompt_with_logits();
  } else {
    // A session that is only prepared keeps its last token for the run that goes on.
    const bool prepare = !options_.session.empty() && options_.n == 0;
    const auto now = std::span(tokens_).first(tokens_.size() - (prepare ? 1 : 0));
    if (prepare) pending_ = {tokens_.back()};
    done = read_tokens(now);
  }
  prompt_seconds_ = seconds_since(start);
  return done;
}

// Evaluates tokens in passes, so that a terminal sees how far it is; the cuts change no bit.
bool TextRun::read_tokens(std::span<const std::uint32_t> tokens) {
  Progress progress(tool_, "reading the prompt", tokens.size());
  for (std::size_t n = 0; !tokens.empty(); tokens = tokens.subspan(n)) {
    n = std::min<std::size_t>(options_.batch, tokens.size());
    if (!take_logits(session_->eval(tokens.first(n)))) return false;
    progress.advance(n);
  }
  return true;
}

// Keeps the logits for the sampler. Weights or activations that are not finite end here, not in made-up text.
bool TextRun::take_logits(const ml::Result<std::span<const float>>& logits) {
  if (!logits) return report(logits.error(), options_.model);
  logits_.assign(logits->begin(), logits->end());
  return check_finite();
}

bool TextRun::check_finite() {
  const auto bad =
      std::find_if_not(logits_.begin(), logits_.end(), [](float logit) { return std::isfinite(logit); });
  if (bad == logits_.end()) return true;
  return report({.status = ml::Status::format,
                 .message = fmt::format(
                     "logit of token {} is {} after {}: the weights are not sound (mlb-info --check)",
                     bad - logits_.begin(), std::isnan(*bad) ? "NaN" : "infinite",
                     counted(session_->position(), "token"))},
                options_.model);
}

bool TextRun::eval_prompt_with_logits() {
  std::optional<ml::OutputFile> file;
  if (!options_.logits.empty()) {
    auto created = ml::OutputFile::create(options_.logits, {.force = tool_.force(), .inputs = inputs()});
    if (!created) return report(created.error(), options_.logits);
    file.emplace(std::move(*created));
  }
  ml::Hasher hasher;
  ml::Result<void> written;
  Progress progress(tool_, "reading the prompt", tokens_.size());
  const auto done = session_->eval(tokens_, [&](std::uint32_t, std::span<const float> row) {
    progress.advance(1);
    const ml::LittleEndian bytes(row);
    hasher.update(bytes.bytes());
    if (file && written) written = file->write(bytes.bytes());
    logits_.assign(row.begin(), row.end());
  });
  if (!done) return report(done.error(), options_.model);
  if (!check_finite()) return false;
  if (file && written) written = file->commit();
  if (!written) return report(written.error(), options_.logits);
  if (options_.digest) print_digest("prompt", hasher);
  return true;
}

void TextRun::print_digest(const std::string& what, const ml::Hasher& hasher) {
  tool_.flush();
  tool_.print_beside("digest {} {}\n", what, hasher.hex());
}

// @return the text of the answer
std::string TextRun::generate() {
  auto sampler = ml::Sampler::create(options_.sampling);
  if (!sampler) return {};  // usage_problem() has looked at the options
  if (options_.n == 0 && !options_.echo && !options_.json) return {};
  for (const std::uint32_t token : session_->tokens()) sampler->accept(token);
  Answer answer(tool_, options_, tokenizer_ ? &*tokenizer_ : nullptr);
  std::vector<std::uint32_t> said(session_->tokens().begin(), session_->tokens().begin() + n_history_);
  said.insert(said.end(), tokens_.begin(), tokens_.begin() + n_said_);
  answer.begin(said, std::span(tokens_).subspan(static_cast<std::size_t>(n_said_)));
  std::optional<ml::SpeculativeDecoder> speculation;
  if (draft_ && options_.n > 0) speculation.emplace(*session_, *draft_, n_draft_);
  const auto start = Clock::now();
  std::uint32_t n_steps = 0;
  std::string_view finish = "length";
  for (std::uint32_t i = 0; i < options_.n; ++i) {
    const std::uint32_t token = sampler->sample(logits_);
    pending_ = {token};
    if (ends_text(token)) {
      finish = "end";
      break;
    }
    if (!answer.write(token)) {
      finish = "stop";
      break;
    }
    if (i + 1 == options_.n) break;
    sampler->accept(token);
    if ((speculation ? speculation->position() : session_->position()) == session_->ctx()) {
      finish = "context";
      after_.push_back(fmt::format("stopped: the context of {} positions is full", session_->ctx()));
      break;
    }
    if (!take_logits(speculation ? speculation->eval(token) : session_->eval({&token, 1}))) {
      unsound_ = true;
      break;
    }
    ++n_steps;
    if (options_.digest) {
      ml::Hasher hasher;
      hasher.update(ml::LittleEndian(std::span(logits_)).bytes());
      print_digest(fmt::format("step {}", n_steps), hasher);
    }
  }
  decode_seconds_ = n_steps == 0 ? 0 : seconds_since(start) / n_steps;
  if (speculation) {
    n_passes_ += speculation->n_passes();
    n_drafted_ += speculation->n_drafted();
    n_accepted_ += speculation->n_accepted();
    if (const auto done = speculation->finish(); !done) report(done.error(), options_.model);
  }
  if (!options_.json || !unsound_) answer.end(tokens_.size() - static_cast<std::size_t>(n_said_), finish);
  tool_.flush();
  for (const std::string& note : std::exchange(after_, {})) tool_.note(note);
  return answer.text();
}

// The text of --imatrix: cut into chunks, each of which begins as a prompt does.
void TextRun::collect() {
  if (!read_prompt()) return;
  Chunks chunks{.text = options_.tokens, .bos = {}, .size = options_.chunk};
  if (chunks.text.empty()) {
    if ((tokenizer_->flags() & ml::kMltBos) != 0) chunks.bos = tokenizer_->bos();
    ml::EncodeOptions encode;
    encode.bos = false;
    chunks.text = tokenizer_->encode(prompt_, encode);
  }
  if (chunks.text.empty()) {
    return tool_.fail({.status = ml::Status::arg, .message = "the text has no tokens to collect from"});
  }
  collect_imatrix(tool_, options_, *model_, std::move(chunks), inputs());
}

// One message of a conversation: evaluates what its prompt adds to the session, and answers.
bool TextRun::take_turn(const std::string& text) {
  auto prompt = chat_->ask(text);
  if (!prompt) return report(prompt.error());
  ml::EncodeOptions encode;
  encode.bos = false;
  tokens_ = tokenizer_->encode(*prompt, encode);
  const auto known = session_->tokens();
  if (known.size() < tokens_.size() && std::equal(known.begin(), known.end(), tokens_.begin())) {
    tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(known.size()));
  } else {
    session_->reset();  // the template wrote an earlier turn differently
  }
  if (tokens_.empty() || !eval_prompt()) return false;
  chat_->answer(generate());
  return true;
}

// Talks on a terminal: a line is a message, its end of file the end.
void TextRun::converse() {
  auto created = ml::Session::create(*model_, main_session_options(options_.batch));
  if (!created) return tool_.fail(ml::with_path(created.error(), options_.model));
  session_.emplace(std::move(*created));
  for (std::string line;;) {
    tool_.print_beside("> ");
    if (!std::getline(std::cin, line)) break;
    if (!line.empty() && !take_turn(line)) return;
  }
  tool_.print_beside("\n");
}

// Before the work, so that a place that cannot be written costs no answer.
bool TextRun::open_session_file() {
  if (options_.session.empty()) return true;
  auto file = ml::OutputFile::create(options_.session, {.force = true, .inputs = inputs()});
  if (!file) return report(file.error(), options_.session);
  session_file_.emplace(std::move(*file));
  return true;
}

void TextRun::save_session() {
  if (!session_file_ || unsound_) return;
  auto saved = session_->save(*session_file_, pending_);
  if (saved) saved = session_file_->commit();
  if (!saved) tool_.fail(ml::with_path(saved.error(), options_.session));
}

void TextRun::save_routes() {
  if (!routes_) return;
  if (const auto saved = routes_->commit(); !saved) tool_.fail(ml::with_path(saved.error(), options_.routes));
}

void TextRun::print_stats() {
  tool_.flush();
  tool_.print_beside("load    {:9.1f} ms  {} of weights\n", load_seconds_ * 1e3,
                     human_size(model_->n_bytes()));
  tool_.print_beside("prompt  {:9.1f} ms  {} tokens, {:.1f} tokens/s\n", prompt_seconds_ * 1e3,
                     tokens_.size(), static_cast<double>(tokens_.size()) / prompt_seconds_);
  if (decode_seconds_ > 0) {
    tool_.print_beside("decode  {:9.1f} ms  a token, {:.1f} tokens/s\n", decode_seconds_ * 1e3,
                       1 / decode_seconds_);
  }
  if (n_passes_ > 0) {
    tool_.print_beside("draft   {:9.2f}     tokens a pass, {} of {} guesses came true\n",
                       static_cast<double>(n_passes_ + n_accepted_) / static_cast<double>(n_passes_),
                       n_accepted_, n_drafted_);
  }
  tool_.print_beside("memory  {:>12}  KV cache of {} positions, {} of scratch\n",
                     human_size(session_->kv_bytes()), session_->ctx(),
                     human_size(session_->scratch_bytes()));
  tool_.print_beside("target  {:>12}\n", ml::target_name(tool_.target()));
}

void TextRun::operator()() {
  if (const std::string problem = usage_problem(tool_, options_); !problem.empty()) {
    return tool_.fail_usage(problem);
  }
  if (!open_model() || !open_tokenizer() || !tool_.open_output(inputs(), options_.jsonl)) return;
  if (!options_.imatrix.empty()) return collect();
  if (options_.jsonl) return run_jsonl(tool_, options_, *model_, *tokenizer_, ends_);
  if (!open_chat() || !open_draft()) return;
  const bool no_prompt = options_.prompt.empty() && options_.prompt_file.empty();
  if (chat_ && no_prompt && ::isatty(STDIN_FILENO) != 0) return converse();
  if (!read_session() || !open_session_file() || !open_routes() || !read_prompt() || !encode_prompt() ||
      !create_session() || !eval_prompt()) {
    return;
  }
  generate();
  save_session();
  save_routes();
  if (options_.stats) print_stats();
}

}  // namespace cli
