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
  ML_TRY(result.values_, AlignedBuffer<float>::allocate(std::uint64_t(options.batch) * desc.kv_dim()));
  return result;
}

void ValueMixture::run(Workspace& workspace, std::uint32_t layer, const Batch& batch, float* out,
                       std::uint64_t out_stride) {
  const std::uint64_t n = ones_.size();
  const std::span<const Tensor> tensors = model_->find_all(Role::v_expert, layer);
  experts_.route(workspace, layer, batch);
  for (std::uint64_t token = 0; token < batch.n_tokens(); ++token)
    std::fill_n(out + token * out_stride, n, 0.0f);
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
