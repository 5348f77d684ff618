#include "runtime/session_impl.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ml {

namespace {

constexpr std::uint32_t kDefaultCtx = 4096;
constexpr std::uint32_t kLogitsBatch = 16;  // positions whose logits are held at a time

Result<SessionOptions> resolve_options(const ModelDesc& desc, SessionOptions options) {
  if (options.ctx > desc.max_seq) {
    return Error{.status = Status::limit,
                 .message = fmt::format("context of {} positions, but the model allows {}", options.ctx,
                                        desc.max_seq)};
  }
  if (options.ctx == 0) options.ctx = std::min(desc.max_seq, kDefaultCtx);
  options.batch = std::clamp(options.batch, 1u, options.ctx);
  return options;
}

}  // namespace

Result<void> Session::Impl::prepare() {
  const ModelDesc& desc = model.desc();
  ML_TRY(options, resolve_options(desc, options));
  ML_TRY(workspace, Workspace::create(desc, options));
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    norms.push_back({.attn = decode_tensor(model, Role::attn_norm, i),
                     .ffn = decode_tensor(model, Role::ffn_norm, i),
                     .post_attn = decode_tensor(model, Role::post_attn_norm, i),
                     .post_ffn = decode_tensor(model, Role::post_ffn_norm, i)});
  }
  final_norm = decode_tensor(model, Role::final_norm, kNoLayer);
  classifier = matrix_of(model, desc.shared_classifier ? Role::tok_emb : Role::wcls, kNoLayer);
  ML_TRY(attention, Attention::create(model, options));
  ML_TRY(gated_delta, GatedDelta::create(model, options));
  ML_TRY(feed_forward, FeedForward::create(model, options));
  ML_TRY(logits, AlignedBuffer<float>::allocate(std::uint64_t(kLogitsBatch) * desc.vocab));
  return {};
}

Result<void> Session::Impl::check_tokens(std::span<const std::uint32_t> tokens) const {
  if (tokens.empty()) return Error{.status = Status::arg, .message = "no tokens to evaluate"};
  if (tokens.size() > options.ctx - position()) {
    return Error{.status = Status::limit,
                 .message = fmt::format("{} tokens after {} do not fit into a context of {}", tokens.size(),
                                        position(), options.ctx)};
  }
  for (const std::uint32_t token : tokens) {
    if (token >= model.desc().vocab) {
      return Error{.status = Status::arg,
                   .message = fmt::format("token is {}, must be below the vocabulary of {}", token,
                                          model.desc().vocab)};
    }
  }
  return {};
}

void Session::Impl::embed(std::span<const std::uint32_t> tokens) {
  const ModelDesc& desc = model.desc();
  const TensorView& embedding = model.find(Role::tok_emb)->view;
  workspace->for_tokens(tokens.size(), [&](std::uint64_t token) {
    float* row = workspace->hidden(token);
    decode_row(embedding, tokens[token], {row, desc.dim});
    if (desc.embed_scale != 0) {
      for (std::uint32_t i = 0; i < desc.dim; ++i) row[i] *= desc.embed_scale;
    }
  });
}

void Session::Impl::forward(std::span<const std::uint32_t> tokens) {
  const ModelDesc& desc = model.desc();
  const Batch batch{.position = position(), .n_tokens = tokens.size()};
  embed(tokens);
  attention.prepare(*workspace, batch);
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    workspace->normalize(norms[i].attn, 0, batch.n_tokens);
    switch (desc.layers[i].kind) {
      case LayerKind::attention: attention.run(*workspace, i, batch); break;
      case LayerKind::gated_delta: gated_delta.run(*workspace, i, batch.n_tokens); break;
    }
    workspace->add_delta(norms[i].post_attn, batch.n_tokens);
    workspace->normalize(norms[i].ffn, 0, batch.n_tokens);
    feed_forward.run(*workspace, i, batch.n_tokens);
    workspace->add_delta(norms[i].post_ffn, batch.n_tokens);
  }
  evaluated.insert(evaluated.end(), tokens.begin(), tokens.end());
}

// Logits of the batch's tokens [first, first + n_tokens), at most kLogitsBatch of them.
void Session::Impl::classify(std::uint64_t first, std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  workspace->normalize(final_norm, first, n_tokens);
  const Product output[] = {{classifier, logits.data(), desc.vocab}};
  multiply(workspace->pool, workspace->table, options.activations, workspace->input, first, n_tokens, output);
  if (desc.final_softcap == 0) return;
  for (std::uint64_t token = 0; token < n_tokens; ++token) {
    workspace->table.softcap(logits.data() + token * desc.vocab, desc.vocab, desc.final_softcap);
  }
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  auto impl = std::make_unique<Impl>(model, options);
  ML_CHECK(impl->prepare());
  return Session(std::move(impl));
}

Result<std::span<const float>> Session::eval(std::span<const std::uint32_t> tokens) {
  ML_CHECK(impl_->check_tokens(tokens));
  std::size_t last_batch = 0;
  for (std::size_t begin = 0; begin < tokens.size(); begin += last_batch) {
    last_batch = std::min<std::size_t>(impl_->options.batch, tokens.size() - begin);
    impl_->forward(tokens.subspan(begin, last_batch));
  }
  impl_->classify(last_batch - 1, 1);
  return std::span<const float>(impl_->logits.data(), impl_->model.desc().vocab);
}

Result<void> Session::eval(std::span<const std::uint32_t> tokens, const LogitsSink& sink) {
  ML_CHECK(impl_->check_tokens(tokens));
  const std::uint64_t vocab = impl_->model.desc().vocab;
  for (std::size_t begin = 0; begin < tokens.size();) {
    const std::uint32_t first_position = impl_->position();
    const std::size_t n = std::min<std::size_t>(impl_->options.batch, tokens.size() - begin);
    impl_->forward(tokens.subspan(begin, n));
    for (std::size_t row = 0; row < n; row += kLogitsBatch) {
      const std::size_t n_rows = std::min<std::size_t>(kLogitsBatch, n - row);
      impl_->classify(row, n_rows);
      for (std::size_t i = 0; i < n_rows; ++i) {
        sink(first_position + static_cast<std::uint32_t>(row + i), {impl_->logits.data() + i * vocab, vocab});
      }
    }
    begin += n;
  }
  return {};
}

void Session::reset() {
  impl_->evaluated.clear();
  impl_->gated_delta.reset();
}
std::uint32_t Session::position() const { return impl_->position(); }
std::span<const std::uint32_t> Session::tokens() const { return impl_->evaluated; }
std::uint32_t Session::ctx() const { return impl_->options.ctx; }
std::uint64_t Session::kv_bytes() const {
  return impl_->attention.kv_bytes() + impl_->gated_delta.state_bytes();
}
std::uint64_t Session::scratch_bytes() const {
  return impl_->workspace->n_bytes() + impl_->attention.scratch_bytes() + impl_->gated_delta.scratch_bytes() +
         impl_->feed_forward.scratch_bytes() + impl_->logits.n_bytes();
}

}  // namespace ml
