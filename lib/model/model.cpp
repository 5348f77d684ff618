#include <ml/model.hpp>

#include <fmt/format.h>

namespace ml {

namespace {

std::size_t slot(Role role, std::uint32_t layer) {
  return (static_cast<std::size_t>(layer) + 1) * kRoles + static_cast<std::size_t>(role);
}

}  // namespace

Result<Model> Model::assemble(ModelDesc desc, std::vector<Tensor> tensors, std::vector<Storage> storage) {
  Model model;
  model.desc_ = std::move(desc);
  model.tensors_ = std::move(tensors);
  model.storage_ = std::move(storage);
  model.index_.assign((model.desc_.layers.size() + 1) * kRoles, 0);

  const auto index_of = [](Role role, std::uint32_t layer) {
    return layer == kNoLayer ? static_cast<std::size_t>(role) : slot(role, layer);
  };
  for (std::uint32_t i = 0; i < model.tensors_.size(); ++i) {
    const Tensor& tensor = model.tensors_[i];
    if (tensor.layer != kNoLayer && tensor.layer >= model.desc_.n_layers()) {
      return Error{.status = Status::format,
                   .message = fmt::format("tensor of layer {}, but the model has {} layers", tensor.layer,
                                          model.desc_.n_layers()),
                   .tensor = tensor.name};
    }
    std::uint32_t& entry = model.index_[index_of(tensor.role, tensor.layer)];
    const bool further = is_expert(tensor.role) && tensor.expert != 0;
    if (further ? entry == 0 || i + 1 - entry != tensor.expert : entry != 0) {
      return Error{.status = Status::format,
                   .message = fmt::format("{} is there twice", tensor_name(tensor.role, tensor.layer)),
                   .tensor = tensor.name};
    }
    if (!further) entry = i + 1;
  }

  const auto check = [&](Role role, std::uint32_t layer) -> Result<void> {
    const std::span<const Tensor> found = model.find_all(role, layer);
    if (found.empty()) {
      return Error{
          .status = Status::format, .message = "tensor is missing", .tensor = tensor_name(role, layer)};
    }
    const Shape shape = role_shape(model.desc_, role, layer);
    for (const Tensor& tensor : found) {
      if (shape == Shape{tensor.view.rows, tensor.view.cols}) continue;
      return Error{.status = Status::shape,
                   .message = fmt::format("shape is {} x {}, must be {} x {}", tensor.view.rows,
                                          tensor.view.cols, shape.rows, shape.cols),
                   .tensor = tensor.name};
    }
    return {};
  };
  if (auto ok = check(Role::tok_emb, kNoLayer); !ok) return std::move(ok.error());
  for (std::uint32_t layer = 0; layer < model.desc_.n_layers(); ++layer) {
    for (const Role role : layer_roles(model.desc_, model.desc_.layers[layer])) {
      if (auto ok = check(role, layer); !ok) return std::move(ok.error());
    }
  }
  if (auto ok = check(Role::final_norm, kNoLayer); !ok) return std::move(ok.error());
  if (!model.desc_.shared_classifier) {
    if (auto ok = check(Role::wcls, kNoLayer); !ok) return std::move(ok.error());
  }
  return model;
}

const Tensor* Model::find(Role role, std::uint32_t layer) const {
  const std::size_t index = layer == kNoLayer ? static_cast<std::size_t>(role) : slot(role, layer);
  const std::uint32_t entry = index < index_.size() ? index_[index] : 0;
  return entry == 0 ? nullptr : &tensors_[entry - 1];
}

std::span<const Tensor> Model::find_all(Role role, std::uint32_t layer) const {
  const Tensor* first = find(role, layer);
  const std::uint32_t n = role_count(desc_, role);
  if (first == nullptr || n == 0 || n > tensors_.size() - static_cast<std::size_t>(first - tensors_.data()))
    return {};
  const Tensor& last = *(first + (n - 1));
  const bool complete = n == 1 || (last.role == role && last.layer == layer && last.expert == n - 1);
  return complete ? std::span(first, n) : std::span<const Tensor>();
}

std::uint64_t Model::n_bytes() const {
  std::uint64_t sum = 0;
  for (const Tensor& tensor : tensors_) sum += tensor.view.n_bytes();
  return sum;
}

std::uint64_t Model::n_weights() const {
  std::uint64_t sum = 0;
  for (const Tensor& tensor : tensors_) sum += tensor.view.n_weights();
  return sum;
}

}  // namespace ml
