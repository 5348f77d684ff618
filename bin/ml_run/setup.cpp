// The first steps of a run: model, tokenizer, prompt, session.

#include "common/open_model.hpp"
#include "common/text.hpp"
#include "ml_run/text_run.hpp"

#include <ml/generation.hpp>
#include <ml/input.hpp>

#include <filesystem>

namespace cli {

namespace {

std::string without_last_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

}  // namespace

bool TextRun::open_model() {
  const auto start = Clock::now();
  auto model = cli::open_model(tool_, options_.model, {.trust = options_.trust});
  if (!model)
    return report(as_it_was_read(tool_, model.error(), options_.model, options_.tokenizer), options_.model);
  model_.emplace(std::move(*model));
  load_seconds_ = seconds_since(start);
  return true;
}

bool TextRun::open_tokenizer() {
  tokenizer_path_ = tokenizer_of(tool_, options_.tokenizer, options_.model);
  const std::string& path = tokenizer_path_;
  const bool needs_text =
      options_.tokens.empty() || (!options_.ids && options_.n > 0 && options_.imatrix.empty());
  if (path.empty()) {
    if (!needs_text) return true;
    return report(
        {.status = ml::Status::arg, .message = "no tokenizer beside the model; --tokenizer names one"},
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

bool TextRun::read_session() {
  std::error_code ignored;
  if (options_.session.empty() || !std::filesystem::exists(options_.session, ignored)) return true;
  auto bytes = ml::read_text(options_.session, {.regular = true});
  if (!bytes) return report(bytes.error());
  saved_ = std::move(*bytes);
  const auto n_tokens = ml::Session::saved_tokens(std::as_bytes(std::span(saved_)));
  if (!n_tokens) return report(n_tokens.error(), options_.session);
  n_saved_ = *n_tokens;
  return true;
}

bool TextRun::open_chat() {
  if (!options_.chat) return true;
  auto chat = Chat::open(options_.model, options_.system, options_.date);
  if (!chat) return report(chat.error());
  chat_.emplace(std::move(*chat));
  return true;
}

bool TextRun::read_prompt() {
  if (!options_.tokens.empty()) return true;
  if (!options_.prompt.empty()) {
    if (names_files(options_.prompt)) {
      tool_.note(fmt::format("the prompt is the text '{0}', not what is in the file: --file {0} reads that",
                             options_.prompt.front()));
    }
    for (const std::string& word : options_.prompt)
      prompt_ += (&word == options_.prompt.data() ? "" : " ") + word;
    return true;
  }
  auto text = ml::read_text(options_.prompt_file.empty() ? "-" : options_.prompt_file);
  if (!text) return report(text.error());
  prompt_ = without_last_newline(std::move(*text));
  return true;
}

bool TextRun::encode_prompt() {
  ml::EncodeOptions encode;
  if (chat_) {
    auto prompt = chat_->ask(prompt_);
    if (!prompt) return report(prompt.error());
    prompt_ = std::move(*prompt);
  }
  if (chat_ || !saved_.empty()) encode.bos = false;  // a template writes its own
  tokens_ = options_.tokens.empty() ? tokenizer_->encode(prompt_, encode) : options_.tokens;
  if (!tokens_.empty() || n_saved_ > 0) return true;
  return report({.status = ml::Status::arg, .message = "the prompt is empty, and the tokenizer adds no BOS"});
}

bool TextRun::open_draft() {
  constexpr std::uint32_t kDefaultGuesses = 8;
  n_draft_ = options_.draft.empty()  ? options_.lookup
             : options_.n_draft != 0 ? options_.n_draft
                                     : kDefaultGuesses;
  if (options_.lookup != 0) draft_ = std::make_unique<ml::LookupDraft>();
  if (options_.draft.empty()) return true;
  const auto model = cli::open_model(tool_, options_.draft, {.trust = options_.trust});
  if (!model) return report(model.error(), options_.draft);
  if (model->desc().vocab != model_->desc().vocab) {
    return report({.status = ml::Status::arg,
                   .message = fmt::format("vocabulary of {} tokens, but {} has {}", model->desc().vocab,
                                          options_.model, model_->desc().vocab)},
                  options_.draft);
  }
  ml::SessionOptions session = session_options(tool_, options_);
  session.ctx = std::min(session.ctx, model->desc().max_seq);
  if (!model->desc().has_latent()) {  // it may be smaller in this, too
    if (session.kv == ml::KvType::fp8 || session.kv == ml::KvType::fp4) session.kv = ml::KvType::bf16;
  }
  auto draft = ml::ModelDraft::create(*model, session);
  if (!draft) return report(draft.error(), options_.draft);
  draft_ = std::move(*draft);
  return true;
}

bool TextRun::open_routes() {
  if (options_.routes.empty()) return true;
  const auto& layers = model_->desc().layers;
  if (std::none_of(layers.begin(), layers.end(), [](const ml::LayerDesc& layer) { return layer.sparse; })) {
    return report({.status = ml::Status::arg, .message = "--routes: the model has no mixtures of experts"},
                  options_.model);
  }
  auto log = RouteLog::create(options_.routes, tool_.force(), inputs());
  if (!log) return report(log.error(), options_.routes);
  routes_.emplace(std::move(*log));
  return true;
}

// A pass has room for what is guessed and what a model reads again, whatever --batch says.
ml::SessionOptions TextRun::main_session_options(std::uint64_t longest_prompt) const {
  ml::SessionOptions session = session_options(tool_, options_);
  session.batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch, longest_prompt));
  if (draft_) session.batch = std::max(session.batch, ml::SpeculativeDecoder::kMaxAgain + n_draft_ + 1);
  return session;
}

bool TextRun::create_session() {
  const std::uint64_t max_seq = model_->desc().max_seq;
  std::uint64_t ctx = options_.ctx;
  const std::uint64_t n_known = n_saved_ + tokens_.size();
  if (ctx == 0) ctx = std::min<std::uint64_t>(max_seq, n_known + options_.n);
  if (n_known > ctx) {
    return report({.status = ml::Status::limit,
                   .message = fmt::format("the prompt has {}, but the context holds {}",
                                          counted(n_known, "token"), ctx)},
                  options_.model);
  }
  ml::SessionOptions session = main_session_options(n_known);
  session.ctx = static_cast<std::uint32_t>(ctx);
  if (routes_) session.routes = routes_->sink();
  auto created = ml::Session::create(*model_, session);
  if (!created) return report(created.error(), options_.model);
  session_.emplace(std::move(*created));
  tool_.detail("context {} positions: {}", ctx,
               options_.ctx != 0 ? "as --ctx says"
               : ctx == max_seq  ? "all that the model allows"
                                 : "the prompt and -n tokens");
  detail_session(tool_, model_->desc(), session.activations, session.kv);
  if (saved_.empty()) return true;
  auto pending = session_->restore(std::as_bytes(std::span(saved_)));
  if (!pending) return report(pending.error(), options_.session);
  tokens_.insert(tokens_.begin(), pending->begin(), pending->end());
  n_said_ = std::ssize(*pending);
  if (!tokens_.empty()) return true;
  return report(
      {.status = ml::Status::arg, .message = "the session left no token to go on from; give a prompt"},
      options_.session);
}

}  // namespace cli
