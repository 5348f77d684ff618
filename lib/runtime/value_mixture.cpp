#include "runtime/value_mixture.hpp"

#include "util/try.hpp"

#include <algorithm>

namespace ml {

Result<ValueMixture> ValueMixture::create(const Model& model, const SessionOptions& options) {
  ValueMixture result;
  const ModelDesc& desc = model.desc();
  if (!has_sparse_layer(desc)) return result;
  result.model_ = &model;
  ML_TRY(result.experts_, RoutedExperts::create(model, options,
                                                {.router = Role::v_router,
                                                 .bias = Role::v_router_bias,
                                                 .expert = Role::v_expert,
                                                 .n_chosen = desc.mixture.n_chosen_values}));
  result.ones_.assign(desc.kv_dim(), 1.0f);
  const std::uint64_t n_rows = std::max(options.batch, desc.mixture.n_chosen_values);
  ML_TRY(result.values_, AlignedBuffer<float>::allocate(n_rows * desc.kv_dim()));
  return result;
}

void ValueMixture::run_one_token(Workspace& workspace, std::span<const Tensor> experts, float* out) {
  const std::uint64_t n = ones_.size();
  const std::vector<RoutedExperts::Choice> choices = experts_.of_one_token();
  std::vector<Product> products;
  for (std::size_t i = 0; i < choices.size(); ++i)
    products.push_back({&experts[choices[i].expert].view, values_.data() + i * n, n});
  workspace.multiply(workspace.input, 1, products);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    workspace.table.silu_mul(products[i].out, ones_.data(), n);
    add_scaled(out, products[i].out, choices[i].weight, n);
  }
}

void ValueMixture::run(Workspace& workspace, std::uint32_t layer, const Batch& batch, float* out,
                       std::uint64_t out_stride) {
  const std::uint64_t n = ones_.size();
  const std::span<const Tensor> tensors = model_->find_all(Role::v_expert, layer);
  experts_.route(workspace, layer, batch);
  for (std::uint64_t token = 0; token < batch.n_tokens(); ++token)
    std::fill_n(out + token * out_stride, n, 0.0f);
  if (batch.n_tokens() == 1) return run_one_token(workspace, tensors, out);
  experts_.for_each(workspace,
                    [&](std::uint32_t expert, Operand& x, std::span<const RoutedExperts::Use> uses) {
                      const Product product[] = {{&tensors[expert].view, values_.data(), n}};
                      workspace.multiply(x, uses.size(), product);
                      workspace.for_tokens(uses.size(), [&](std::uint64_t i) {
                        float* value = values_.data() + i * n;
                        workspace.table.silu_mul(value, ones_.data(), n);
                        add_scaled(out + uses[i].token * out_stride, value, uses[i].weight, n);
                      });
                    });
}

}  // namespace ml
