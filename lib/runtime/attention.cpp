#include "runtime/attention.hpp"

#include "runtime/attend.hpp"
#include "util/try.hpp"

#include <algorithm>

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
  attention.layers_.resize(desc.n_layers());
  const std::uint64_t batch = options.batch;
  bool any = false;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (desc.layers[i].kind != LayerKind::attention) continue;
    any = true;
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

void Attention::project(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  const std::uint64_t row = row_floats();
  float* values = qkv_.data() + desc_->q_dim() + desc_->kv_dim();
  std::vector<Product> products{{layer.wq, qkv_.data(), row}, {layer.wk, qkv_.data() + desc_->q_dim(), row}};
  if (layer.wv != nullptr) products.push_back({layer.wv, values, row});
  if (layer.wg != nullptr) products.push_back({layer.wg, gates_.data(), desc_->q_dim()});
  workspace.multiply(workspace.input, batch.n_tokens(), products);
  if (desc_->layers[layer_index].sparse) value_mixture_.run(workspace, layer_index, batch, values, row);
  if (workspace.watcher) workspace.watcher(layer_index, workspace.input, values, row, batch.n_tokens());
}

// Biases, norms and rotation of one token's queries and keys; its key and value go to the cache.
void Attention::place_token(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer_index,
                            const Batch& batch, std::uint64_t token) {
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

  const auto finish_head = [&](const std::vector<float>& norm, float* head) {
    if (!norm.empty()) workspace.table.rms_norm(head, norm.data(), head_dim, desc.norm_eps, head);
    angles.rotate(layer_desc, token, head);
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

void Attention::run(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer_index,
                    const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  project(workspace, layer_index, batch);
  workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
    place_token(workspace, angles, layer_index, batch, token);
  });
  attend(workspace, *desc_, layer_index, batch,
         {.n_heads = desc_->n_heads,
          .n_kv_heads = desc_->n_kv_heads,
          .query_dim = desc_->head_dim,
          .value_dim = desc_->head_dim,
          .queries = queries_.data(),
          .out = attended_.row(0),
          .out_stride = attended_.stride()});
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
  return qkv_.n_bytes() + queries_.n_bytes() + gates_.n_bytes() + attended_.n_bytes() +
         value_mixture_.scratch_bytes();
}

}  // namespace ml
