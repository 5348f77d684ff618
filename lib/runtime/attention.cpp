#include "runtime/attention.hpp"

#include "runtime/rope.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

void add_bias(const std::vector<float>& bias, float* row) {
  for (std::size_t i = 0; i < bias.size(); ++i) row[i] += bias[i];
}

}  // namespace

Result<Attention> Attention::create(const Model& model, const SessionOptions& options) {
  Attention attention;
  const ModelDesc& desc = model.desc();
  attention.desc_ = &desc;
  attention.kv_ = options.kv;
  attention.layers_.resize(desc.n_layers());
  const std::uint64_t batch = options.batch;
  bool any = false;
  bool any_local = false;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (desc.layers[i].kind != LayerKind::attention) continue;
    any = true;
    any_local = any_local || desc.layers[i].local_rope;
    Layer& layer = attention.layers_[i];
    layer.wq = matrix_of(model, Role::wq, i);
    layer.wk = matrix_of(model, Role::wk, i);
    layer.wv = matrix_of(model, Role::wv, i);
    layer.wo = matrix_of(model, Role::wo, i);
    layer.wg = matrix_of(model, Role::wg, i);
    layer.bq = decode_tensor(model, Role::bq, i);
    layer.bk = decode_tensor(model, Role::bk, i);
    layer.bv = decode_tensor(model, Role::bv, i);
    layer.q_norm = decode_tensor(model, Role::q_norm, i);
    layer.k_norm = decode_tensor(model, Role::k_norm, i);
  }
  if (!any) return attention;

  std::vector<RopeDesc> ropes{desc.rope};
  if (any_local) {
    RopeDesc local = desc.rope;
    local.type = RopeType::plain;
    local.theta = desc.rope.local_theta;
    ropes.push_back(local);
  }
  for (const RopeDesc& rope : ropes) {
    Angles angles{.frequencies = rope_frequencies(rope), .rope = rope, .values = {}};
    ML_TRY(angles.values, AlignedBuffer<float>::allocate(batch * 2 * angles.frequencies.size()));
    attention.angles_.push_back(std::move(angles));
  }
  ML_TRY(attention.qkv_, AlignedBuffer<float>::allocate(batch * attention.row_floats()));
  ML_TRY(attention.queries_,
         AlignedBuffer<float>::allocate(batch * desc.n_heads * kernels::padded_floats(desc.head_dim)));
  if (desc.attn_gate) {
    ML_TRY(attention.gates_, AlignedBuffer<float>::allocate(batch * desc.q_dim()));
  }
  ML_TRY(attention.value_mixture_, ValueMixture::create(model, options));
  ML_TRY(attention.attended_, Operand::create(batch, desc.q_dim()));
  return attention;
}

void Attention::prepare(Workspace& workspace, const Batch& batch) {
  for (Angles& angles : angles_) {
    const std::size_t n_pairs = angles.frequencies.size();
    workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
      float* cosines = angles.values.data() + token * 2 * n_pairs;
      rope_angles(angles.rope, angles.frequencies, batch.position(token), {cosines, n_pairs},
                  {cosines + n_pairs, n_pairs});
    });
  }
}

void Attention::project(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  const std::uint64_t row = row_floats();
  float* values = qkv_.data() + desc_->q_dim() + desc_->kv_dim();
  std::vector<Product> products{{layer.wq, qkv_.data(), row}, {layer.wk, qkv_.data() + desc_->q_dim(), row}};
  if (layer.wv != nullptr) products.push_back({layer.wv, values, row});
  if (layer.wg != nullptr) products.push_back({layer.wg, gates_.data(), desc_->q_dim()});
  workspace.multiply(workspace.input, batch.n_tokens(), products);
  if (desc_->layers[layer_index].sparse) value_mixture_.run(workspace, layer_index, batch, values, row);
}

// Biases, norms and rotation of one token's queries and keys; its key and value go to the cache.
void Attention::place_token(Workspace& workspace, std::uint32_t layer_index, const Batch& batch,
                            std::uint64_t token) {
  const ModelDesc& desc = *desc_;
  Layer& layer = layers_[layer_index];
  const LayerDesc& layer_desc = desc.layers[layer_index];
  const std::uint64_t head_dim = desc.head_dim;
  const std::uint64_t padded = kernels::padded_floats(head_dim);
  float* query = qkv_.data() + token * row_floats();
  float* key = query + desc.q_dim();
  float* value = key + desc.kv_dim();
  add_bias(layer.bq, query);
  add_bias(layer.bk, key);
  add_bias(layer.bv, value);

  const Angles& angles = angles_[layer_desc.local_rope ? 1 : 0];
  const std::size_t n_pairs = angles.frequencies.size();
  const std::span<const float> cosines(angles.values.data() + token * 2 * n_pairs, n_pairs);
  const std::span<const float> sines(cosines.data() + n_pairs, n_pairs);
  const auto finish_head = [&](const std::vector<float>& norm, float* head) {
    if (!norm.empty()) workspace.table.rms_norm(head, norm.data(), head_dim, desc.norm_eps, head);
    if (!layer_desc.no_rope) rotate_head(angles.rope, cosines, sines, head);
  };
  for (std::uint64_t head = 0; head < desc.n_heads; ++head) {
    float* rotated = queries_.data() + (token * desc.n_heads + head) * padded;
    std::copy_n(query + head * head_dim, head_dim, rotated);
    finish_head(layer.q_norm, rotated);
  }
  for (std::uint64_t head = 0; head < desc.n_kv_heads; ++head)
    finish_head(layer.k_norm, key + head * head_dim);
  batch.run_of(token).sequence->cache(layer_index).store(workspace.table, batch.position(token), key, value);
}

namespace {

// Queries of consecutive tokens and of heads that share their keys.
struct Piece {
  const Run* run;
  std::uint64_t row;  // of its first token
  std::uint64_t n_tokens;
  std::uint32_t head;
  std::uint32_t n_heads;
};

std::vector<Piece> attention_pieces(const ModelDesc& desc, const Batch& batch) {
  const std::uint32_t group = desc.n_heads / desc.n_kv_heads;
  const auto n_heads = static_cast<std::uint32_t>(std::min<std::uint64_t>(group, kernels::kMaxQueries));
  const std::uint64_t n_tokens = kernels::kMaxQueries / n_heads;
  std::vector<Piece> pieces;
  for (const Run& run : batch.runs()) {
    for (std::uint64_t row = 0; row < run.n_tokens; row += n_tokens) {
      const std::uint64_t n_rows = std::min(n_tokens, run.n_tokens - row);
      for (std::uint32_t head = 0; head < desc.n_heads; head += pieces.back().n_heads) {
        pieces.push_back({&run, run.first + row, n_rows, head, std::min(n_heads, group - head % group)});
      }
    }
  }
  return pieces;
}

}  // namespace

void Attention::attend(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const ModelDesc& desc = *desc_;
  const std::uint64_t padded = kernels::padded_floats(desc.head_dim);
  const std::uint32_t group = desc.n_heads / desc.n_kv_heads;
  const float scale =
      desc.attn_scale != 0 ? desc.attn_scale : 1.0f / std::sqrt(static_cast<float>(desc.head_dim));
  const std::uint64_t window = desc.layers[layer_index].windowed ? desc.sliding_window : 0;
  const auto attend = workspace.table.attend[static_cast<std::size_t>(kv_)];
  const std::vector<Piece> pieces = attention_pieces(desc, batch);
  const auto attend_piece = [&](unsigned thread, const Piece& piece) {
    kernels::AttentionQuery queries[kernels::kMaxQueries];
    std::uint64_t n = 0;
    for (std::uint64_t row = piece.row; row < piece.row + piece.n_tokens; ++row) {
      const std::uint64_t last = batch.position(row);
      for (std::uint64_t head = piece.head; head < piece.head + piece.n_heads; ++head) {
        queries[n++] = {.query = queries_.data() + (row * desc.n_heads + head) * padded,
                        .out = attended_.row(row) + head * desc.head_dim,
                        .first = window != 0 && last + 1 > window ? last + 1 - window : 0,
                        .last = last};
      }
    }
    const KvCache& cache = piece.run->sequence->cache(layer_index);
    attend({.queries = queries,
            .n_queries = n,
            .keys = cache.keys(piece.head / group),
            .values = cache.values(piece.head / group),
            .capacity = cache.capacity(),
            .head_dim = desc.head_dim,
            .scale = scale,
            .softcap = desc.attn_softcap,
            .scratch = reinterpret_cast<float*>(workspace.scratch.of_thread(thread))});
  };
  // Little work is done by one thread.
  constexpr std::uint64_t kWorthAThread = 1u << 15;
  std::uint64_t n_keys = 0;
  for (const Run& run : batch.runs()) n_keys = std::max(n_keys, run.position + run.n_tokens);
  const std::uint64_t work = batch.n_tokens() * desc.n_heads * n_keys * desc.head_dim;
  workspace.pool.run_threads(pieces.size(), work < kWorthAThread ? pieces.size() : 1,
                             [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
                               for (std::uint64_t i = begin; i < end; ++i) attend_piece(thread, pieces[i]);
                             });
}

void Attention::run(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  project(workspace, layer_index, batch);
  workspace.for_tokens(batch.n_tokens(),
                       [&](std::uint64_t token) { place_token(workspace, layer_index, batch, token); });
  attend(workspace, layer_index, batch);
  if (layer.wg != nullptr) {
    const auto gate = workspace.gate_kernel(desc_->gate_function);
    workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
      gate(attended_.row(token), gates_.data() + token * desc_->q_dim(), desc_->q_dim());
    });
  }
  workspace.observe(layer_index, ImatrixInput::o, attended_, batch.n_tokens());
  const Product output[] = {{layer.wo, workspace.delta(), desc_->dim}};
  workspace.multiply(attended_, batch.n_tokens(), output);
}

std::uint64_t Attention::scratch_bytes() const {
  std::uint64_t sum = qkv_.n_bytes() + queries_.n_bytes() + gates_.n_bytes() + attended_.n_bytes() +
                      value_mixture_.scratch_bytes();
  for (const Angles& angles : angles_) sum += angles.values.n_bytes();
  return sum;
}

}  // namespace ml
