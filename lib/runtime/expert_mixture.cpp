#include "runtime/expert_mixture.hpp"

#include "util/try.hpp"

#include <algorithm>

namespace ml {

Result<ExpertMixture> ExpertMixture::create(const Model& model, const SessionOptions& options) {
  ExpertMixture result;
  const ModelDesc& desc = model.desc();
  if (!has_sparse_layer(desc)) return result;
  result.model_ = &model;
  ML_TRY(result.experts_, RoutedExperts::create(model, options,
                                                {.router = Role::router,
                                                 .bias = Role::router_bias,
                                                 .expert = Role::expert_w1,
                                                 .n_chosen = desc.mixture.n_chosen}));
  const std::uint64_t batch = options.batch;
  ML_TRY(result.gated_, Operand::create(batch, desc.mixture.expert_dim));
  ML_TRY(result.up_, AlignedBuffer<float>::allocate(batch * desc.mixture.expert_dim));
  ML_TRY(result.out_, AlignedBuffer<float>::allocate(batch * desc.dim));
  return result;
}

// out_ = w2 (silu(w1 x) * (w3 x))
void ExpertMixture::run_one(Workspace& workspace, const Weights& weights, Operand& x,
                            std::uint64_t n_tokens) {
  const std::uint64_t hidden = gated_.cols();
  const Product inputs[] = {{weights.w1, gated_.row(0), gated_.stride()}, {weights.w3, up_.data(), hidden}};
  workspace.multiply(x, n_tokens, inputs);
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
    workspace.table.silu_mul(gated_.row(token), up_.data() + token * hidden, hidden);
  });
  const Product output[] = {{weights.w2, out_.data(), model_->desc().dim}};
  workspace.multiply(gated_, n_tokens, output);
}

void ExpertMixture::run(Workspace& workspace, std::uint32_t layer, const Batch& batch) {
  const std::uint64_t dim = model_->desc().dim;
  const std::span<const Tensor> w1 = model_->find_all(Role::expert_w1, layer);
  const std::span<const Tensor> w2 = model_->find_all(Role::expert_w2, layer);
  const std::span<const Tensor> w3 = model_->find_all(Role::expert_w3, layer);
  experts_.route(workspace, layer, batch);
  std::fill_n(workspace.delta(), batch.n_tokens() * dim, 0.0f);
  experts_.for_each(
      workspace, [&](std::uint32_t expert, Operand& x, std::span<const RoutedExperts::Use> uses) {
        run_one(workspace, {&w1[expert].view, &w2[expert].view, &w3[expert].view}, x, uses.size());
        workspace.for_tokens(uses.size(), [&](std::uint64_t i) {
          add_scaled(workspace.delta() + uses[i].token * dim, out_.data() + i * dim, uses[i].weight, dim);
        });
      });
  const Weights shared{matrix_of(*model_, Role::shared_w1, layer), matrix_of(*model_, Role::shared_w2, layer),
                       matrix_of(*model_, Role::shared_w3, layer)};
  run_one(workspace, shared, workspace.input, batch.n_tokens());
  workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
    add_scaled(workspace.delta() + token * dim, out_.data() + token * dim, 1.0f, dim);
  });
}

}  // namespace ml
