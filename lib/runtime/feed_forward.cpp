#include "runtime/feed_forward.hpp"

#include "util/try.hpp"

namespace ml {

Result<FeedForward> FeedForward::create(const Model& model, const SessionOptions& options) {
  FeedForward result;
  const ModelDesc& desc = model.desc();
  result.desc_ = &desc;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    result.layers_.push_back(
        {matrix_of(model, Role::w1, i), matrix_of(model, Role::w2, i), matrix_of(model, Role::w3, i)});
  }
  ML_TRY(result.gated_, Operand::create(options.batch, desc.hidden_dim));
  ML_TRY(result.up_, AlignedBuffer<float>::allocate(std::uint64_t(options.batch) * desc.hidden_dim));
  return result;
}

void FeedForward::run(Workspace& workspace, std::uint32_t layer_index, std::uint64_t n_tokens) {
  const Layer& layer = layers_[layer_index];
  const std::uint64_t hidden_dim = desc_->hidden_dim;
  const Product inputs[] = {{layer.w1, gated_.row(0), gated_.stride()}, {layer.w3, up_.data(), hidden_dim}};
  workspace.multiply(workspace.input, n_tokens, inputs);
  const auto activate =
      desc_->activation == Activation::silu ? workspace.table.silu_mul : workspace.table.gelu_mul;
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) {
    activate(gated_.row(token), up_.data() + token * hidden_dim, hidden_dim);
  });
  workspace.observe(layer_index, ImatrixInput::down, gated_, n_tokens);
  const Product output[] = {{layer.w2, workspace.delta(), desc_->dim}};
  workspace.multiply(gated_, n_tokens, output);
}

}  // namespace ml
