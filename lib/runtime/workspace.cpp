#include "runtime/workspace.hpp"

#include "kernels/targets.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

Workspace::Workspace(const ModelDesc& desc, const SessionOptions& options)
    : table(kernels::table_of(options.target)),
      activations(options.activations),
      pool(options.threads != 0 ? options.threads : available_threads()),
      routes(options.routes),
      dim_(desc.dim),
      norm_groups_(desc.norm_groups),
      norm_eps_(desc.norm_eps) {}

Result<std::unique_ptr<Workspace>> Workspace::create(const Model& model, const SessionOptions& options) {
  const ModelDesc& desc = model.desc();
  std::unique_ptr<Workspace> workspace(new Workspace(desc, options));
  const std::uint64_t batch = options.batch;
  ML_TRY(workspace->hidden_, AlignedBuffer<float>::allocate(batch * desc.dim));
  ML_TRY(workspace->delta_, AlignedBuffer<float>::allocate(batch * desc.dim));
  ML_TRY(workspace->input, Operand::create(batch, desc.dim));
  std::uint64_t n_bytes = 0;
  for (const LayerDesc& layer : desc.layers) {
    const std::uint64_t row_dim = std::uint64_t(desc.head_dim) + layer.rank;
    n_bytes = std::max(n_bytes, kernels::attention_floats(row_dim) * sizeof(float));
  }
  for (const Tensor& tensor : model.tensors())
    n_bytes = std::max(n_bytes, kernels::panel_bytes(tensor.view.cols));
  ML_TRY(workspace->scratch, ThreadScratch::create(workspace->pool.n_threads(), n_bytes));
  return workspace;
}

void Workspace::for_tokens(std::uint64_t n_tokens, const std::function<void(std::uint64_t)>& job) {
  constexpr std::uint64_t kGrain = 4;
  pool.run(n_tokens, kGrain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t token = begin; token < end; ++token) job(token);
  });
}

void Workspace::norm_row(const float* x, std::span<const float> weight, float* out) const {
  const std::uint64_t n = dim_ / norm_groups_;
  for (std::uint64_t i = 0; i < dim_; i += n) table.rms_norm(x + i, weight.data() + i, n, norm_eps_, out + i);
}

void Workspace::normalize(std::span<const float> weight, std::uint64_t n_tokens) {
  for_tokens(n_tokens, [&](std::uint64_t token) { norm_row(hidden(token), weight, input.row(token)); });
}

void Workspace::normalize_rows(std::span<const float> weight, std::span<const std::uint64_t> rows) {
  for_tokens(rows.size(), [&](std::uint64_t i) { norm_row(hidden(rows[i]), weight, input.row(i)); });
}

void Workspace::add_delta(std::span<const float> post_norm, std::uint64_t n_tokens) {
  for_tokens(n_tokens, [&](std::uint64_t token) {
    float* to = hidden(token);
    float* from = delta_.data() + token * dim_;
    if (!post_norm.empty()) norm_row(from, post_norm, from);
    for (std::uint64_t i = 0; i < dim_; ++i) to[i] += from[i];
  });
}

std::vector<float> decode_tensor(const Model& model, Role role, std::uint32_t layer) {
  const Tensor* tensor = model.find(role, layer);
  if (tensor == nullptr) return {};
  const TensorView& view = tensor->view;
  std::vector<float> values(view.n_weights());
  for (std::uint64_t row = 0; row < view.rows; ++row) {
    decode_row(view, row, std::span(values).subspan(row * view.cols, view.cols));
  }
  return values;
}

bool has_sparse_layer(const ModelDesc& desc) {
  return std::any_of(desc.layers.begin(), desc.layers.end(),
                     [](const LayerDesc& layer) { return layer.sparse; });
}

const TensorView* matrix_of(const Model& model, Role role, std::uint32_t layer) {
  const Tensor* tensor = model.find(role, layer);
  return tensor == nullptr ? nullptr : &tensor->view;
}

}  // namespace ml
