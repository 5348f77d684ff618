#include "runtime/expert_mixture.hpp"

#include "util/try.hpp"

#include <algorithm>
#include <numeric>

namespace ml {

Result<ExpertMixture> ExpertMixture::create(const Model& model, const SessionOptions& options) {
  ExpertMixture result;
  const ModelDesc& desc = model.desc();
  if (!has_sparse_layer(desc)) return result;
  const MixtureDesc& mixture = desc.mixture;
  result.dim_ = desc.dim;
  result.layers_.resize(desc.n_layers());
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (!desc.layers[i].sparse) continue;
    const auto w1 = model.find_all(Role::expert_w1, i);
    const auto w2 = model.find_all(Role::expert_w2, i);
    const auto w3 = model.find_all(Role::expert_w3, i);
    Layer& layer = result.layers_[i];
    for (std::size_t expert = 0; expert < w1.size(); ++expert)
      layer.experts.push_back({&w1[expert].view, &w2[expert].view, &w3[expert].view});
    layer.shared = {matrix_of(model, Role::shared_w1, i), matrix_of(model, Role::shared_w2, i),
                    matrix_of(model, Role::shared_w3, i)};
  }
  ML_TRY(result.experts_, RoutedExperts::create(model, options,
                                                {.router = Role::router,
                                                 .bias = Role::router_bias,
                                                 .expert = Role::expert_w1,
                                                 .n_chosen = mixture.n_chosen}));
  ML_TRY(result.gated_, Operand::create(options.batch, mixture.expert_dim));
  for (std::uint32_t i = 0; i <= mixture.n_chosen; ++i) {
    ML_TRY(Operand hidden, Operand::create(1, mixture.expert_dim));
    result.hidden_.push_back(std::move(hidden));
  }
  const std::uint64_t n_rows = std::max<std::uint64_t>(options.batch, mixture.n_chosen + 1ull);
  ML_TRY(result.up_, AlignedBuffer<float>::allocate(n_rows * mixture.expert_dim));
  ML_TRY(result.out_, AlignedBuffer<float>::allocate(n_rows * desc.dim));
  return result;
}

// out_ = w2 (silu(w1 x) * (w3 x))
void ExpertMixture::run_expert(Workspace& workspace, const Weights& weights, Operand& x,
                               std::uint64_t n_tokens) {
  const std::uint64_t n = gated_.cols();
  const Product inputs[] = {{weights.w1, gated_.row(0), gated_.stride()}, {weights.w3, up_.data(), n}};
  workspace.multiply(x, n_tokens, inputs);
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
    workspace.table.silu_mul(gated_.row(token), up_.data() + token * n, n);
  });
  const Product output[] = {{weights.w2, out_.data(), dim_}};
  workspace.multiply(gated_, n_tokens, output);
}

// An expert at a time, with all its tokens.
void ExpertMixture::run_batch(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens) {
  experts_.for_each(
      workspace, [&](std::uint32_t expert, Operand& x, std::span<const RoutedExperts::Use> uses) {
        run_expert(workspace, layer.experts[expert], x, uses.size());
        workspace.for_tokens(uses.size(), [&](std::uint64_t i) {
          add_scaled(workspace.delta() + uses[i].token * dim_, out_.data() + i * dim_, uses[i].weight, dim_);
        });
      });
  run_expert(workspace, layer.shared, workspace.input, n_tokens);
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
    add_scaled(workspace.delta() + token * dim_, out_.data() + token * dim_, 1.0f, dim_);
  });
}

// All experts at once: two passes over their rows.
void ExpertMixture::run_one_token(Workspace& workspace, const Layer& layer) {
  const std::uint64_t n = gated_.cols();
  std::vector<RoutedExperts::Choice> choices = experts_.of_one_token();
  std::vector<Weights> weights;
  for (const RoutedExperts::Choice& choice : choices) weights.push_back(layer.experts[choice.expert]);
  weights.push_back(layer.shared);
  std::vector<Product> inputs;
  std::vector<Product> outputs;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    inputs.push_back({weights[i].w1, hidden_[i].row(0), hidden_[i].stride()});
    inputs.push_back({weights[i].w3, up_.data() + i * n, n});
    outputs.push_back({weights[i].w2, out_.data() + i * dim_, dim_, &hidden_[i]});
  }
  workspace.multiply(workspace.input, 1, inputs);
  for (std::size_t i = 0; i < weights.size(); ++i)
    workspace.table.silu_mul(hidden_[i].row(0), up_.data() + i * n, n);
  workspace.multiply(hidden_[0], 1, outputs);
  for (std::size_t i = 0; i < weights.size(); ++i)
    add_scaled(workspace.delta(), outputs[i].out, i < choices.size() ? choices[i].weight : 1.0f, dim_);
}

void ExpertMixture::run(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  experts_.route(workspace, layer_index, batch);
  std::fill_n(workspace.delta(), batch.n_tokens() * dim_, 0.0f);
  if (batch.n_tokens() == 1) return run_one_token(workspace, layer);
  run_batch(workspace, layer, batch.n_tokens());
}

std::uint64_t ExpertMixture::scratch_bytes() const {
  const std::uint64_t sum = experts_.scratch_bytes() + gated_.n_bytes() + up_.n_bytes() + out_.n_bytes();
  return std::accumulate(hidden_.begin(), hidden_.end(), sum,
                         [](std::uint64_t n, const Operand& operand) { return n + operand.n_bytes(); });
}

}  // namespace ml
