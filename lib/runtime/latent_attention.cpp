#include "runtime/latent_attention.hpp"

#include "runtime/attend.hpp"
#include "runtime/head_product.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

Result<LatentAttention> LatentAttention::create(const Model& model, const SessionOptions& options) {
  LatentAttention result;
  const ModelDesc& desc = model.desc();
  result.desc_ = &desc;
  result.layers_.resize(desc.n_layers());
  std::uint64_t rank = 0;
  bool any_sparse = false;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (desc.layers[i].kind != LayerKind::latent_attention) continue;
    Layer& layer = result.layers_[i];
    layer.wq = matrix_of(model, Role::wq, i);
    layer.wo = matrix_of(model, Role::wo, i);
    layer.wg = matrix_of(model, Role::wg, i);
    layer.kv_a_x = matrix_of(model, Role::kv_a_x, i);
    layer.kv_a_v = matrix_of(model, Role::kv_a_v, i);
    layer.k_rope_proj = matrix_of(model, Role::k_rope_proj, i);
    layer.q_rope_mix = matrix_of(model, Role::q_rope_mix, i);
    layer.q_lat = matrix_of(model, Role::q_lat, i);
    layer.v_up = matrix_of(model, Role::v_up, i);
    layer.bq = decode_tensor(model, Role::bq, i);
    layer.q_norm = decode_tensor(model, Role::q_norm, i);
    layer.rank = desc.layers[i].rank;
    layer.row_dim = layer.rank + desc.head_dim;
    rank = std::max(rank, layer.rank);
    any_sparse = any_sparse || desc.layers[i].sparse;
  }
  if (rank == 0) return result;
  const std::uint64_t batch = options.batch;
  const std::uint64_t row_dim = rank + desc.head_dim;
  ML_TRY(result.unmixed_, AlignedBuffer<float>::allocate(batch * desc.q_dim()));
  ML_TRY(result.rows_, AlignedBuffer<float>::allocate(batch * row_dim));
  ML_TRY(result.queries_, AlignedBuffer<float>::allocate(batch * desc.n_heads * row_dim));
  ML_TRY(result.averages_, AlignedBuffer<float>::allocate(batch * desc.n_heads * rank));
  if (desc.attn_gate) {
    ML_TRY(result.gates_, AlignedBuffer<float>::allocate(batch * desc.q_dim()));
  }
  if (any_sparse) {
    ML_TRY(result.value_mixture_, ValueMixture::create(model, options));
    ML_TRY(result.values_, Operand::create(batch, desc.kv_dim()));
    ML_TRY(result.of_values_, AlignedBuffer<float>::allocate(batch * rank));
  }
  ML_TRY(result.attended_, Operand::create(batch, desc.q_dim()));
  return result;
}

void LatentAttention::project(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  const std::uint64_t n_tokens = batch.n_tokens();
  std::vector<Product> products{{layer.wq, unmixed_.data(), desc_->q_dim()},
                                {layer.kv_a_x, rows_.data(), layer.row_dim},
                                {layer.k_rope_proj, rows_.data() + layer.rank, layer.row_dim}};
  if (layer.wg != nullptr) products.push_back({layer.wg, gates_.data(), desc_->q_dim()});
  workspace.multiply(workspace.input, n_tokens, products);
  if (desc_->layers[layer_index].sparse) add_values(workspace, layer_index, batch);
  if (layer.bq.empty() && layer.q_norm.empty()) return;
  const std::uint64_t head_dim = desc_->head_dim;
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
    float* query = unmixed_.data() + token * desc_->q_dim();
    for (std::size_t i = 0; i < layer.bq.size(); ++i) query[i] += layer.bq[i];
    for (std::uint64_t head = 0; !layer.q_norm.empty() && head < desc_->n_heads; ++head, query += head_dim)
      workspace.table.rms_norm(query, layer.q_norm.data(), head_dim, desc_->norm_eps, query);
  });
}

// Latent vectors of sparse layers hold their mixtures of values.
void LatentAttention::add_values(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  value_mixture_.run(workspace, layer_index, batch, values_.row(0), values_.stride());
  const Product product[] = {{layer.kv_a_v, of_values_.data(), layer.rank}};
  workspace.multiply(values_, batch.n_tokens(), product);
  workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
    float* row = rows_.data() + token * layer.row_dim;
    const float* more = of_values_.data() + token * layer.rank;
    for (std::uint64_t i = 0; i < layer.rank; ++i) row[i] += more[i];
  });
}

// Queries of the latent space, and those that will be rotated behind them.
void LatentAttention::absorb(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens) {
  HeadProduct product{.maps = layer.q_lat,
                      .n_heads = desc_->n_heads,
                      .x = unmixed_.data(),
                      .x_head = desc_->head_dim,
                      .x_stride = desc_->q_dim(),
                      .out = queries_.data(),
                      .out_head = layer.row_dim,
                      .out_stride = desc_->n_heads * layer.row_dim};
  multiply_heads(workspace, product, n_tokens);
  product.maps = layer.q_rope_mix;
  product.out += layer.rank;
  multiply_heads(workspace, product, n_tokens);
}

void LatentAttention::place_token(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer_index,
                                  const Batch& batch, std::uint64_t token) {
  const Layer& layer = layers_[layer_index];
  const LayerDesc& layer_desc = desc_->layers[layer_index];
  float* query = queries_.data() + token * desc_->n_heads * layer.row_dim + layer.rank;
  for (std::uint64_t head = 0; head < desc_->n_heads; ++head)
    angles.rotate(layer_desc, token, query + head * layer.row_dim);
  float* row = rows_.data() + token * layer.row_dim;
  angles.rotate(layer_desc, token, row + layer.rank);
  KvCache& cache = batch.run_of(token).sequence->cache(layer_index);
  cache.store_latent(workspace.table, batch.position(token), row);
}

void LatentAttention::run(Workspace& workspace, const RopeAngles& angles, std::uint32_t layer_index,
                          const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  const std::uint64_t n_tokens = batch.n_tokens();
  const std::uint64_t n_heads = desc_->n_heads;
  project(workspace, layer_index, batch);
  absorb(workspace, layer, n_tokens);
  workspace.for_tokens(
      n_tokens, [&](std::uint64_t token) { place_token(workspace, angles, layer_index, batch, token); });
  attend(workspace, *desc_, layer_index, batch,
         {.n_heads = desc_->n_heads,
          .n_kv_heads = 1,
          .query_dim = layer.row_dim,
          .value_dim = layer.rank,
          .queries = queries_.data(),
          .out = averages_.data(),
          .out_stride = n_heads * layer.rank});
  multiply_heads(workspace,
                 {.maps = layer.v_up,
                  .n_heads = desc_->n_heads,
                  .x = averages_.data(),
                  .x_head = layer.rank,
                  .x_stride = n_heads * layer.rank,
                  .out = attended_.row(0),
                  .out_head = desc_->head_dim,
                  .out_stride = attended_.stride()},
                 n_tokens);
  if (layer.wg != nullptr) {
    const auto gate = workspace.gate_kernel(desc_->gate_function);
    workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
      gate(attended_.row(token), gates_.data() + token * desc_->q_dim(), desc_->q_dim());
    });
  }
  workspace.observe(layer_index, ImatrixInput::o, attended_, n_tokens);
  const Product output[] = {{layer.wo, workspace.delta(), desc_->dim}};
  workspace.multiply(attended_, n_tokens, output);
}

std::uint64_t LatentAttention::scratch_bytes() const {
  return unmixed_.n_bytes() + rows_.n_bytes() + queries_.n_bytes() + averages_.n_bytes() + gates_.n_bytes() +
         value_mixture_.scratch_bytes() + values_.n_bytes() + of_values_.n_bytes() + attended_.n_bytes();
}

}  // namespace ml
