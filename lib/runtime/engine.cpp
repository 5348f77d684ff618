#include "runtime/engine.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

constexpr std::uint32_t kDefaultCtx = 4096;

Result<SessionOptions> resolve_options(const ModelDesc& desc, SessionOptions options,
                                       std::uint32_t n_sequences) {
  if (options.ctx > desc.max_seq) {
    return Error{.status = Status::limit,
                 .message = fmt::format("context of {} positions, but the model allows {}", options.ctx,
                                        desc.max_seq)};
  }
  if (!options.kv) options.kv = default_kv(desc, options.activations);
  if (!desc.has_latent() && (*options.kv == KvType::fp8 || *options.kv == KvType::fp4)) {
    return Error{.status = Status::arg,
                 .message = fmt::format("KV cache in {}, but the model has no latent attention",
                                        kv_type_name(*options.kv))};
  }
  if (options.ctx == 0) options.ctx = std::min(desc.max_seq, kDefaultCtx);
  const std::uint64_t all_positions = std::uint64_t(options.ctx) * n_sequences;
  options.batch =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(options.batch, n_sequences, all_positions));
  return options;
}

}  // namespace

KvType default_kv(const ModelDesc& desc, Activations activations) {
  if (desc.latent.kv) return *desc.latent.kv;
  if (activations == Activations::f32) return KvType::f32;
  return desc.has_latent() ? KvType::bf16 : KvType::f16;
}

std::uint64_t kv_bytes_a_token(const ModelDesc& desc, KvType kv) {
  std::uint64_t sum = 0;
  for (const LayerDesc& layer : desc.layers) sum += kv_position_bytes(desc, layer, kv);
  return sum;
}

Result<std::unique_ptr<Engine>> Engine::create(const Model& model, const SessionOptions& options,
                                               std::uint32_t n_sequences) {
  ML_TRY(const SessionOptions resolved, resolve_options(model.desc(), options, n_sequences));
  std::unique_ptr<Engine> engine(new Engine(model, resolved));
  ML_CHECK(engine->prepare());
  return engine;
}

Result<void> Engine::prepare() {
  const ModelDesc& desc = model_.desc();
  // Scratch for a pass holds the rows that classify() gathers, too.
  SessionOptions scratch = options_;
  scratch.batch = std::max(options_.batch, kLogitsRows);
  ML_TRY(workspace_, Workspace::create(model_, scratch));
  if (options_.imatrix != nullptr) {
    workspace_->sums = options_.imatrix->impl_.get();
    ML_CHECK(check_imatrix_fits(workspace_->sums->total, desc));
  }
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    norms_.push_back({.attn = decode_tensor(model_, Role::attn_norm, i),
                      .ffn = decode_tensor(model_, Role::ffn_norm, i),
                      .post_attn = decode_tensor(model_, Role::post_attn_norm, i),
                      .post_ffn = decode_tensor(model_, Role::post_ffn_norm, i)});
  }
  final_norm_ = decode_tensor(model_, Role::final_norm, kNoLayer);
  classifier_ = matrix_of(model_, desc.shared_classifier ? Role::tok_emb : Role::wcls, kNoLayer);
  ML_TRY(angles_, RopeAngles::create(desc, options_.batch));
  ML_TRY(attention_, Attention::create(model_, options_));
  ML_TRY(latent_attention_, LatentAttention::create(model_, options_));
  ML_TRY(gated_delta_, GatedDelta::create(model_, options_));
  ML_TRY(feed_forward_, FeedForward::create(model_, options_));
  ML_TRY(expert_mixture_, ExpertMixture::create(model_, options_));
  ML_TRY(logits_, AlignedBuffer<float>::allocate(std::uint64_t(kLogitsRows) * desc.vocab));
  return {};
}

Result<void> Engine::check_tokens(const Sequence& sequence, std::span<const std::uint32_t> tokens) const {
  if (tokens.empty()) return Error{.status = Status::arg, .message = "no tokens to evaluate"};
  if (tokens.size() > options_.ctx - sequence.position()) {
    return Error{.status = Status::limit,
                 .message = fmt::format("{} tokens after {} do not fit into a context of {}", tokens.size(),
                                        sequence.position(), options_.ctx)};
  }
  for (const std::uint32_t token : tokens) {
    if (token >= desc().vocab) {
      return Error{
          .status = Status::arg,
          .message = fmt::format("token is {}, must be below the vocabulary of {}", token, desc().vocab)};
    }
  }
  return {};
}

void Engine::embed(const Batch& batch) {
  const TensorView& embedding = model_.find(Role::tok_emb)->view;
  const std::uint32_t dim = desc().dim;
  const float scale = desc().embed_scale;
  workspace_->for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
    float* row = workspace_->hidden(token);
    decode_row(embedding, batch.token(token), {row, dim});
    for (std::uint32_t i = 0; scale != 0 && i < dim; ++i) row[i] *= scale;
  });
}

void Engine::forward(const Batch& batch) {
  const std::uint64_t n_tokens = batch.n_tokens();
  embed(batch);
  angles_.prepare(*workspace_, batch);
  for (std::uint32_t i = 0; i < desc().n_layers(); ++i) {
    workspace_->normalize(norms_[i].attn, n_tokens);
    workspace_->observe(i, ImatrixInput::qkv, workspace_->input, n_tokens);
    switch (desc().layers[i].kind) {
      case LayerKind::attention: attention_.run(*workspace_, angles_, i, batch); break;
      case LayerKind::latent_attention: latent_attention_.run(*workspace_, angles_, i, batch); break;
      case LayerKind::gated_delta: gated_delta_.run(*workspace_, i, batch); break;
    }
    workspace_->add_delta(norms_[i].post_attn, n_tokens);
    workspace_->normalize(norms_[i].ffn, n_tokens);
    workspace_->observe(i, ImatrixInput::gate_up, workspace_->input, n_tokens);
    if (desc().layers[i].sparse) {
      expert_mixture_.run(*workspace_, i, batch);
    } else {
      feed_forward_.run(*workspace_, i, n_tokens);
    }
    workspace_->add_delta(norms_[i].post_ffn, n_tokens);
  }
  if (workspace_->sums != nullptr) workspace_->sums->part.tokens += n_tokens;
  for (const Run& run : batch.runs()) {
    const auto tokens = batch.tokens_of(run);
    run.sequence->tokens.insert(run.sequence->tokens.end(), tokens.begin(), tokens.end());
  }
}

std::span<const float> Engine::classify(std::span<const std::uint64_t> rows) {
  const std::uint64_t vocab = desc().vocab;
  workspace_->normalize_rows(final_norm_, rows);
  workspace_->observe(0, ImatrixInput::classifier, workspace_->input, rows.size());
  if (workspace_->sums != nullptr) workspace_->sums->part.classifier_tokens += rows.size();
  const Product output[] = {{classifier_, logits_.data(), vocab}};
  workspace_->multiply(workspace_->input, rows.size(), output);
  if (desc().final_softcap != 0) {
    workspace_->table.softcap(logits_.data(), rows.size() * vocab, desc().final_softcap);
  }
  return {logits_.data(), rows.size() * vocab};
}

std::uint64_t Engine::scratch_bytes() const {
  return workspace_->n_bytes() + angles_.n_bytes() + attention_.scratch_bytes() +
         latent_attention_.scratch_bytes() + gated_delta_.scratch_bytes() + feed_forward_.scratch_bytes() +
         expert_mixture_.scratch_bytes() + logits_.n_bytes();
}

}  // namespace ml
