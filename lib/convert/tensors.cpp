#include "convert/tensors.hpp"

#include "util/json.hpp"
#include "util/name_list.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace ml {

namespace {

constexpr std::string_view kEmbedding = "embed_tokens.weight";

// What stands before "embed_tokens.weight": "model." in text models, more in wrappers.
Result<std::string> find_root(const CheckpointTensors& checkpoint) {
  NameList roots;
  std::string root;
  for (const CheckpointTensor& entry : checkpoint.all()) {
    const std::string& name = entry.tensor->name;
    if (!name.ends_with(kEmbedding)) continue;
    const std::string_view before(name.data(), name.size() - kEmbedding.size());
    if (!before.empty() && !before.ends_with('.')) continue;
    root = before;
    roots.add(name);
  }
  if (roots.empty()) {
    return Error{.status = Status::format, .message = fmt::format("no tensor's name ends in {}", kEmbedding)};
  }
  if (roots.size() == 1) return root;
  return Error{.status = Status::format,
               .message = fmt::format("{} end in {}, must be one", roots.text("tensor"), kEmbedding)};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<TensorView> weight_view(const CheckpointTensor& entry, Role role, Shape shape) {
  const SafetensorsTensor& tensor = *entry.tensor;
  const auto refuse = [&](Status status, std::string message) {
    return Error{.status = status,
                 .message = std::move(message),
                 .path = *entry.path,
                 .tensor = show_name(tensor.name)};
  };
  const std::vector<std::uint64_t> wanted = is_matrix(role)
                                                ? std::vector<std::uint64_t>{shape.rows, shape.cols}
                                                : std::vector<std::uint64_t>{shape.cols};
  if (tensor.shape != wanted) {
    return refuse(Status::shape, fmt::format("shape is {}, the config implies {}", shape_text(tensor.shape),
                                             shape_text(wanted)));
  }
  if (!tensor.dtype->encoding) {
    return refuse(Status::unsupported,
                  fmt::format("dtype is {}, weights must be F32, F16 or BF16", tensor.dtype->name));
  }
  return TensorView{
      .encoding = *tensor.dtype->encoding, .rows = shape.rows, .cols = shape.cols, .data = tensor.data};
}

// One checkpoint becoming a list of tensors.
class Mapper {
 public:
  Mapper(const CheckpointTensors& checkpoint, const Family& family, const ModelDesc& desc, std::string root)
      : checkpoint_(checkpoint), family_(family), desc_(desc), root_(std::move(root)) {}

  Result<std::vector<Tensor>> map() {
    ML_CHECK(take(Role::tok_emb, kNoLayer));
    for (std::uint32_t layer = 0; layer < desc_.n_layers(); ++layer) {
      for (const Role role : layer_roles(desc_, desc_.layers[layer])) ML_CHECK(take(role, layer));
    }
    ML_CHECK(take(Role::final_norm, kNoLayer));
    if (!desc_.shared_classifier) ML_CHECK(take(Role::wcls, kNoLayer));
    if (!missing_.empty()) return Error{.status = Status::format, .message = missing_text()};
    ML_CHECK(check_rest());
    return std::move(tensors_);
  }

 private:
  std::string name_of(Role role, std::uint32_t layer) const {
    const auto row = std::find_if(family_.tensors.begin(), family_.tensors.end(),
                                  [role](const TensorRow& candidate) { return candidate.role == role; });
    if (row == family_.tensors.end()) return tensor_name(role, layer);  // a role that the family never has
    if (role == Role::wcls) return std::string(row->name);
    if (layer == kNoLayer) return root_ + std::string(row->name);
    return fmt::format("{}layers.{}.{}", root_, layer, row->name);
  }

  Result<void> take(Role role, std::uint32_t layer) {
    const std::string name = name_of(role, layer);
    const CheckpointTensor* entry = checkpoint_.find(name);
    if (entry == nullptr) {
      missing_.add(name);
      lacks_classifier_ |= role == Role::wcls;
      return {};
    }
    ML_TRY(const TensorView view, weight_view(*entry, role, role_shape(desc_, role)));
    tensors_.push_back({role, layer, name, view});
    used_.insert(entry->tensor->name);
    return {};
  }

  std::string missing_text() const {
    const std::string hint =
        lacks_classifier_ ? "; without lm_head.weight the config must say tie_word_embeddings: true" : "";
    return fmt::format("the config implies {} that the checkpoint lacks{}", missing_.text("tensor"), hint);
  }

  // "self_attn.o_proj.bias" of "model.layers.3.self_attn.o_proj.bias"; empty where there is no such layer.
  std::string_view layer_part(std::string_view name) const {
    const std::string prefix = root_ + "layers.";
    if (!name.starts_with(prefix)) return {};
    name.remove_prefix(prefix.size());
    std::uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.' || layer >= desc_.n_layers())
      return {};
    return name.substr(static_cast<std::size_t>(end + 1 - name.data()));
  }

  // Every tensor that nothing took must be one that may stay behind.
  Result<void> check_rest() const {
    const auto contains = [](std::span<const std::string_view> names, std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    NameList unknown;
    for (const CheckpointTensor& entry : checkpoint_.all()) {
      const SafetensorsTensor& tensor = *entry.tensor;
      if (used_.contains(tensor.name)) continue;
      const bool ignored = std::any_of(family_.ignored.begin(), family_.ignored.end(),
                                       [&](std::string_view end) { return tensor.name.ends_with(end); });
      if (ignored || (desc_.shared_classifier && tensor.name == name_of(Role::wcls, kNoLayer))) continue;
      if (!contains(family_.zero_only, layer_part(tensor.name))) {
        unknown.add(tensor.name);
      } else if (!all_zero(tensor)) {
        return Error{.status = Status::unsupported,
                     .message = "bias is not 0: only those of q_proj, k_proj and v_proj can be kept",
                     .path = *entry.path,
                     .tensor = tensor.name};
      }
    }
    if (unknown.empty()) return {};
    return Error{.status = Status::format,
                 .message = fmt::format(
                     "the checkpoint holds {} that a model of the {} family with this config has not",
                     unknown.text("tensor"), family_.name)};
  }

  // Either sign of zero; only dtypes whose zeros are known.
  static bool all_zero(const SafetensorsTensor& tensor) {
    if (!tensor.dtype->encoding) return false;
    const std::size_t size = tensor.dtype->bits / 8;
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
      const bool sign_byte = i % size == size - 1;
      if ((tensor.data[i] & (sign_byte ? std::byte{0x7f} : std::byte{0xff})) != std::byte{0}) return false;
    }
    return true;
  }

  const CheckpointTensors& checkpoint_;
  const Family& family_;
  const ModelDesc& desc_;
  std::string root_;
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string_view> used_;
  NameList missing_;
  bool lacks_classifier_ = false;
};

}  // namespace

CheckpointTensors::CheckpointTensors(std::vector<CheckpointTensor> tensors) : tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const auto& a, const auto& b) { return a.tensor->name < b.tensor->name; });
}

const CheckpointTensor* CheckpointTensors::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const auto& entry, std::string_view wanted) { return entry.tensor->name < wanted; });
  return found == tensors_.end() || found->tensor->name != name ? nullptr : &*found;
}

Result<std::vector<Tensor>> map_tensors(const CheckpointTensors& checkpoint, const Family& family,
                                        const ModelDesc& desc) {
  ML_TRY(std::string root, find_root(checkpoint));
  return Mapper(checkpoint, family, desc, std::move(root)).map();
}

}  // namespace ml
