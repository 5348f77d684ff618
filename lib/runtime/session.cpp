#include <ml/session.hpp>

#include "kernels/targets.hpp"
#include "runtime/kv_cache.hpp"
#include "runtime/operand.hpp"
#include "runtime/rope.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace ml {

namespace {

constexpr std::uint32_t kDefaultCtx = 4096;
constexpr std::uint32_t kLogitsBatch = 16;  // positions whose logits are held at a time

/// What one layer multiplies and adds, found once.
struct LayerWeights {
  std::vector<float> attn_norm;
  std::vector<float> ffn_norm;
  const TensorView* wq;
  const TensorView* wk;
  const TensorView* wv;
  const TensorView* wo;
  const TensorView* w1;
  const TensorView* w2;
  const TensorView* w3;
};

std::vector<float> decode_vector(const TensorView& view) {
  std::vector<float> values(view.cols);
  decode_row(view, 0, values);
  return values;
}

}  // namespace

struct Session::Impl {
  Impl(const Model& model_in, const SessionOptions& options_in)
      : model(model_in),
        options(options_in),
        table(kernels::table_of(options_in.target)),
        pool(options_in.threads != 0 ? options_in.threads : available_threads()) {}

  Result<void> prepare();
  Result<void> check_tokens(std::span<const std::uint32_t> tokens) const;
  void forward(std::span<const std::uint32_t> tokens);
  void attention(std::uint32_t layer, std::uint64_t n_tokens);
  void feed_forward(const LayerWeights& weights, std::uint64_t n_tokens);
  void attend_rows(std::uint32_t layer, std::uint64_t n_tokens);
  void rotate_and_store(std::uint32_t layer, std::uint64_t n_tokens);
  void normalize(std::span<const float> weight, Operand& out, std::uint64_t first, std::uint64_t n_tokens);
  void add_to_hidden(const float* rows, std::uint64_t n_tokens);
  void classify(std::uint64_t first, std::uint64_t n_tokens);
  void for_tokens(std::uint64_t n_tokens, const std::function<void(std::uint64_t)>& job);

  Model model;
  SessionOptions options;
  const kernels::Table& table;
  ThreadPool pool;

  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;
  const TensorView* classifier = nullptr;
  std::vector<double> frequencies;

  KvCache cache;
  std::uint32_t position = 0;

  // Scratch of one batch; rows of a token lie together.
  AlignedBuffer<float> hidden;   // [batch][dim]: the residual stream
  Operand normed;                // [batch][dim]
  AlignedBuffer<float> qkv;      // [batch][q_dim + 2 kv_dim]
  AlignedBuffer<float> queries;  // [batch][n_heads][padded head_dim], rotated
  Operand attended;              // [batch][q_dim]
  Operand gated;                 // [batch][hidden_dim]: gate, then silu(gate) * up
  AlignedBuffer<float> up;       // [batch][hidden_dim]
  AlignedBuffer<float> delta;    // [batch][dim]: what a half layer adds
  AlignedBuffer<float> angles;   // [batch][2][rot_dim / 2]: cosines, sines
  AlignedBuffer<float> logits;   // [kLogitsBatch][vocab]
};

Result<void> Session::Impl::prepare() {
  const ModelDesc& desc = model.desc();
  ML_CHECK(check_runnable(desc));
  if (options.ctx > desc.max_seq) {
    return Error{.status = Status::limit,
                 .message = fmt::format("context of {} positions, but the model allows {}", options.ctx,
                                        desc.max_seq)};
  }
  if (options.ctx == 0) options.ctx = std::min(desc.max_seq, kDefaultCtx);
  if (options.batch == 0) options.batch = 1;
  options.batch = std::min(options.batch, options.ctx);

  const auto view = [&](Role role, std::uint32_t layer) { return &model.find(role, layer)->view; };
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    layers.push_back({.attn_norm = decode_vector(*view(Role::attn_norm, i)),
                      .ffn_norm = decode_vector(*view(Role::ffn_norm, i)),
                      .wq = view(Role::wq, i),
                      .wk = view(Role::wk, i),
                      .wv = view(Role::wv, i),
                      .wo = view(Role::wo, i),
                      .w1 = view(Role::w1, i),
                      .w2 = view(Role::w2, i),
                      .w3 = view(Role::w3, i)});
  }
  final_norm = decode_vector(*view(Role::final_norm, kNoLayer));
  classifier = view(desc.shared_classifier ? Role::tok_emb : Role::wcls, kNoLayer);
  frequencies = rope_frequencies(desc.rope);

  const std::uint64_t batch = options.batch;
  ML_TRY(cache, KvCache::create(desc, options.ctx, options.kv));
  ML_TRY(hidden, AlignedBuffer<float>::allocate(batch * desc.dim));
  ML_TRY(normed, Operand::create(batch, desc.dim));
  ML_TRY(qkv, AlignedBuffer<float>::allocate(batch * (desc.q_dim() + 2ull * desc.kv_dim())));
  ML_TRY(queries,
         AlignedBuffer<float>::allocate(batch * desc.n_heads * kernels::padded_floats(desc.head_dim)));
  ML_TRY(attended, Operand::create(batch, desc.q_dim()));
  ML_TRY(gated, Operand::create(batch, desc.hidden_dim));
  ML_TRY(up, AlignedBuffer<float>::allocate(batch * desc.hidden_dim));
  ML_TRY(delta, AlignedBuffer<float>::allocate(batch * desc.dim));
  ML_TRY(angles, AlignedBuffer<float>::allocate(batch * 2 * frequencies.size()));
  ML_TRY(logits, AlignedBuffer<float>::allocate(std::uint64_t(kLogitsBatch) * desc.vocab));
  return {};
}

Result<void> Session::Impl::check_tokens(std::span<const std::uint32_t> tokens) const {
  if (tokens.empty()) return Error{.status = Status::arg, .message = "no tokens to evaluate"};
  if (tokens.size() > options.ctx - position) {
    return Error{.status = Status::limit,
                 .message = fmt::format("{} tokens after {} do not fit into a context of {}", tokens.size(),
                                        position, options.ctx)};
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

// Short batches are not worth waking threads.
void Session::Impl::for_tokens(std::uint64_t n_tokens, const std::function<void(std::uint64_t)>& job) {
  const std::uint64_t grain = n_tokens < 4 ? n_tokens : 4;
  pool.run(n_tokens, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t token = begin; token < end; ++token) job(token);
  });
}

void Session::Impl::normalize(std::span<const float> weight, Operand& out, std::uint64_t first,
                              std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  for_tokens(n_tokens, [&](std::uint64_t token) {
    table.rms_norm(hidden.data() + (first + token) * desc.dim, weight.data(), desc.dim, desc.norm_eps,
                   out.row(first + token));
  });
}

void Session::Impl::add_to_hidden(const float* rows, std::uint64_t n_tokens) {
  const std::uint64_t dim = model.desc().dim;
  for_tokens(n_tokens, [&](std::uint64_t token) {
    float* to = hidden.data() + token * dim;
    const float* from = rows + token * dim;
    for (std::uint64_t i = 0; i < dim; ++i) to[i] += from[i];
  });
}

void Session::Impl::rotate_and_store(std::uint32_t layer, std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  const std::uint64_t row = desc.q_dim() + 2ull * desc.kv_dim();
  const std::uint64_t padded = kernels::padded_floats(desc.head_dim);
  const std::size_t n_pairs = frequencies.size();
  for_tokens(n_tokens, [&](std::uint64_t token) {
    const std::span<const float> cosines(angles.data() + token * 2 * n_pairs, n_pairs);
    const std::span<const float> sines(cosines.data() + n_pairs, n_pairs);
    const float* query = qkv.data() + token * row;
    float* key = qkv.data() + token * row + desc.q_dim();
    for (std::uint64_t head = 0; head < desc.n_heads; ++head) {
      float* rotated = queries.data() + (token * desc.n_heads + head) * padded;
      std::copy_n(query + head * desc.head_dim, desc.head_dim, rotated);
      rotate_head(desc.rope, cosines, sines, rotated);
    }
    for (std::uint64_t head = 0; head < desc.n_kv_heads; ++head) {
      rotate_head(desc.rope, cosines, sines, key + head * desc.head_dim);
    }
    cache.store(table, layer, position + static_cast<std::uint32_t>(token), key, key + desc.kv_dim());
  });
}

void Session::Impl::attend_rows(std::uint32_t layer, std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  const std::uint64_t padded = kernels::padded_floats(desc.head_dim);
  const std::uint32_t group = desc.n_heads / desc.n_kv_heads;
  const float scale =
      desc.attn_scale != 0 ? desc.attn_scale : 1.0f / std::sqrt(static_cast<float>(desc.head_dim));
  const std::uint64_t window = desc.layers[layer].windowed ? desc.sliding_window : 0;
  const auto attend = table.attend[static_cast<std::size_t>(cache.type())];
  const auto attend_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t item = begin; item < end; ++item) {
      const std::uint64_t token = item / desc.n_heads;
      const auto head = static_cast<std::uint32_t>(item % desc.n_heads);
      const std::uint64_t last = position + token;
      attend({.query = queries.data() + item * padded,
              .keys = cache.keys(layer, head / group),
              .values = cache.values(layer, head / group),
              .head_dim = desc.head_dim,
              .first = window != 0 && last + 1 > window ? last + 1 - window : 0,
              .last = last,
              .scale = scale,
              .out = attended.row(token) + std::uint64_t(head) * desc.head_dim});
    }
  };
  const std::uint64_t n_items = n_tokens * desc.n_heads;
  const std::uint64_t work = n_items * (position + n_tokens) * desc.head_dim;
  pool.run(n_items, work < (1u << 15) ? n_items : std::max<std::uint64_t>(1, desc.n_heads / 4), attend_range);
}

void Session::Impl::attention(std::uint32_t layer, std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  const LayerWeights& weights = layers[layer];
  const std::uint64_t row = desc.q_dim() + 2ull * desc.kv_dim();
  normalize(weights.attn_norm, normed, 0, n_tokens);
  const Product projections[] = {{weights.wq, qkv.data(), row},
                                 {weights.wk, qkv.data() + desc.q_dim(), row},
                                 {weights.wv, qkv.data() + desc.q_dim() + desc.kv_dim(), row}};
  multiply(pool, table, options.activations, normed, 0, n_tokens, projections);
  rotate_and_store(layer, n_tokens);
  attend_rows(layer, n_tokens);
  const Product output[] = {{weights.wo, delta.data(), desc.dim}};
  multiply(pool, table, options.activations, attended, 0, n_tokens, output);
  add_to_hidden(delta.data(), n_tokens);
}

void Session::Impl::feed_forward(const LayerWeights& weights, std::uint64_t n_tokens) {
  const ModelDesc& desc = model.desc();
  normalize(weights.ffn_norm, normed, 0, n_tokens);
  const Product inputs[] = {{weights.w1, gated.row(0), gated.stride()},
                            {weights.w3, up.data(), desc.hidden_dim}};
  multiply(pool, table, options.activations, normed, 0, n_tokens, inputs);
  for_tokens(n_tokens, [&](std::uint64_t token) {
    table.silu_mul(gated.row(token), up.data() + token * desc.hidden_dim, desc.hidden_dim);
  });
  const Product output[] = {{weights.w2, delta.data(), desc.dim}};
  multiply(pool, table, options.activations, gated, 0, n_tokens, output);
  add_to_hidden(delta.data(), n_tokens);
}

void Session::Impl::forward(std::span<const std::uint32_t> tokens) {
  const ModelDesc& desc = model.desc();
  const TensorView& embedding = model.find(Role::tok_emb)->view;
  const std::size_t n_pairs = frequencies.size();
  for_tokens(tokens.size(), [&](std::uint64_t token) {
    decode_row(embedding, tokens[token], {hidden.data() + token * desc.dim, desc.dim});
    float* cosines = angles.data() + token * 2 * n_pairs;
    rope_angles(desc.rope, frequencies, position + static_cast<std::uint32_t>(token), {cosines, n_pairs},
                {cosines + n_pairs, n_pairs});
  });
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
    attention(layer, tokens.size());
    feed_forward(layers[layer], tokens.size());
  }
  position += static_cast<std::uint32_t>(tokens.size());
}

// Logits of the batch's tokens [first, first + n_tokens), at most kLogitsBatch of them.
void Session::Impl::classify(std::uint64_t first, std::uint64_t n_tokens) {
  normalize(final_norm, normed, first, n_tokens);
  const Product output[] = {{classifier, logits.data(), model.desc().vocab}};
  multiply(pool, table, options.activations, normed, first, n_tokens, output);
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
    const std::uint32_t first_position = impl_->position;
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

void Session::reset() { impl_->position = 0; }
std::uint32_t Session::position() const { return impl_->position; }
std::uint32_t Session::ctx() const { return impl_->options.ctx; }
std::uint64_t Session::kv_bytes() const { return impl_->cache.n_bytes(); }
std::uint64_t Session::scratch_bytes() const {
  return impl_->hidden.n_bytes() + impl_->normed.n_bytes() + impl_->qkv.n_bytes() + impl_->queries.n_bytes() +
         impl_->attended.n_bytes() + impl_->gated.n_bytes() + impl_->up.n_bytes() + impl_->delta.n_bytes() +
         impl_->angles.n_bytes() + impl_->logits.n_bytes();
}

}  // namespace ml
