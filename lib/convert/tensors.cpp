#include "convert/tensors.hpp"

#include "convert/latent.hpp"
#include "util/bytes.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <memory>

namespace ml {

namespace {

constexpr std::string_view kEmbedding = "embed_tokens.weight";
constexpr std::string_view kExperts = "experts.";

// What stands before "embed_tokens.weight": "model." in text models, more in wrappers.
Result<std::string> find_root(const CheckpointTensors& checkpoint) {
  NameList roots;
  std::string root;
  for (const CheckpointTensor& entry : checkpoint.all()) {
    const std::string& name = entry.name;
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

constexpr std::string_view kWeight = ".weight";

using Shape64 = std::vector<std::uint64_t>;

// Dimensions of 1 in front say nothing: writers differ in them.
std::span<const std::uint64_t> without_ones(const Shape64& shape) {
  const auto first = std::find_if(shape.begin(), shape.end(), [](std::uint64_t dim) { return dim != 1; });
  return {first, shape.end()};
}

bool same_shape(const Shape64& a, const Shape64& b) {
  return a == b || std::ranges::equal(without_ones(a), without_ones(b));
}

Shape64 checkpoint_shape(const ModelDesc& desc, Role role, std::uint64_t rows, std::uint64_t cols) {
  if (role == Role::lconv) return {rows, 1, cols};
  if (is_head_map(role)) return {desc.n_heads, rows / desc.n_heads, cols};
  if (is_matrix(role)) return {rows, cols};
  return {cols};
}

// The checkpoint's whole tensor as rows.
Result<TensorView> whole_view(const CheckpointTensor& tensor, const Shape64& wanted) {
  const auto refuse = [&](Status status, std::string message) {
    return Error{.status = status,
                 .message = std::move(message),
                 .path = *tensor.entry->path,
                 .tensor = show_name(tensor.name)};
  };
  if (!same_shape(tensor.shape, wanted)) {
    return refuse(Status::shape, fmt::format("shape is {}, the config implies {}", shape_text(tensor.shape),
                                             shape_text(wanted)));
  }
  if (!tensor.view) {
    return refuse(Status::unsupported,
                  fmt::format("dtype is {}, weights must be F32, F16 or BF16", tensor.dtype));
  }
  return *tensor.view;
}

// Rows first, first + 1, ... of each group of 2 * n rows, n a group, one after the other.
std::vector<std::byte> gather_rows(std::span<const std::byte> bytes, std::uint64_t row_bytes,
                                   std::uint64_t first, std::uint64_t n) {
  std::vector<std::byte> gathered;
  gathered.reserve(bytes.size() / 2);
  for (std::uint64_t at = first * row_bytes; at < bytes.size(); at += 2 * n * row_bytes) {
    const auto group = bytes.subspan(at, n * row_bytes);
    gathered.insert(gathered.end(), group.begin(), group.end());
  }
  return gathered;
}

std::vector<std::byte> with_one_added(const TensorView& view) {
  std::vector<float> values(view.n_weights());
  decode_row(view, 0, values);
  for (float& value : values) value += 1.0f;
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  store_le(bytes.data(), std::span(values));
  return bytes;
}

// One checkpoint becoming a list of tensors.
class Mapper {
 public:
  Mapper(const CheckpointTensors& checkpoint, const Family& family, const ModelDesc& desc, std::string root)
      : checkpoint_(checkpoint), family_(family), desc_(desc), root_(std::move(root)) {}

  Result<MappedTensors> map() {
    ML_CHECK(take(Role::tok_emb, kNoLayer));
    for (std::uint32_t layer = 0; layer < desc_.n_layers(); ++layer) {
      for (const Role role : layer_roles(desc_, desc_.layers[layer])) ML_CHECK(take(role, layer));
    }
    ML_CHECK(take(Role::final_norm, kNoLayer));
    if (!desc_.shared_classifier) ML_CHECK(take(Role::wcls, kNoLayer));
    if (!missing_.empty()) return Error{.status = Status::format, .message = missing_text()};
    ML_CHECK(check_rest());
    return std::move(mapped_);
  }

 private:
  const TensorRow* row_of(Role role) const {
    const auto row = std::find_if(family_.tensors.begin(), family_.tensors.end(),
                                  [role](const TensorRow& candidate) { return candidate.role == role; });
    return row == family_.tensors.end() ? nullptr : &*row;  // null: a role that the family never has
  }

  std::string name_of(Role role, std::uint32_t layer) const {
    if (const std::string_view latent = latent_tensor_name(role); !latent.empty())
      return latent_name(fmt::format("{}layers.{}.{}", root_, layer, latent));
    const TensorRow* row = row_of(role);
    if (row == nullptr) return tensor_name(role, layer);
    if (role == Role::wcls) return classifier_name(row->name);
    if (layer == kNoLayer) return root_ + std::string(row->name);
    return fmt::format("{}layers.{}.{}", root_, layer, row->name);
  }

  // Seeds are always of a NAME.weight.
  std::string latent_name(std::string name) const {
    return checkpoint_.find(name) == nullptr && checkpoint_.find(name + std::string(kWeight)) != nullptr
               ? name + std::string(kWeight)
               : name;
  }

  // At the top level whatever the root; wrappers that were saved whole keep it beside their text model.
  std::string classifier_name(std::string_view name) const {
    constexpr std::string_view kModel = "model.";
    std::string top(name);
    if (checkpoint_.find(top) != nullptr || !root_.ends_with(kModel)) return top;
    std::string beside = root_.substr(0, root_.size() - kModel.size()) + top;
    return checkpoint_.find(beside) != nullptr ? beside : top;
  }

  // Stacked in one tensor, or a tensor each.
  Result<void> take_experts(Role role, std::uint32_t layer) {
    const std::string name = name_of(role, layer);
    const std::uint32_t n = role_count(desc_, role);
    const Shape shape = role_shape(desc_, role);
    const auto add = [&](std::uint32_t expert, const std::string& found, const TensorView& view) {
      mapped_.tensors.push_back({role, layer, found, view, expert});
    };
    if (const CheckpointTensor* stack = checkpoint_.find(name)) {
      ML_TRY(const TensorView view, whole_view(*stack, {n, shape.rows, shape.cols}));
      for (std::uint32_t i = 0; i < n; ++i) add(i, name, view.rows_at(i * shape.rows, shape.rows));
      used_.insert(stack->name);
      return {};
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::string one = name_of_expert(name, i);
      const CheckpointTensor* entry = checkpoint_.find(one);
      if (entry == nullptr) {
        missing_.add(i == 0 ? name : one);
        return {};  // the first one says enough
      }
      ML_TRY(const TensorView view, whole_view(*entry, {shape.rows, shape.cols}));
      add(i, one, view);
      used_.insert(entry->name);
    }
    return {};
  }

  Result<void> take(Role role, std::uint32_t layer) {
    if (is_expert(role) && row_of(role) != nullptr) return take_experts(role, layer);
    std::string name = name_of(role, layer);
    const CheckpointTensor* entry = checkpoint_.find(name);
    const TensorRow latent{role, latent_tensor_name(role)};
    const TensorRow* row_or_none = latent.name.empty() ? row_of(role) : &latent;
    if (entry == nullptr || row_or_none == nullptr) {
      if (name != last_missing_) missing_.add(name);  // fused parts come in a row
      last_missing_ = name;
      lacks_classifier_ |= role == Role::wcls;
      return {};
    }
    const TensorRow& row = *row_or_none;
    const Shape shape = role_shape(desc_, role, layer);
    const PartRows part = part_rows(desc_, row.part, shape.rows);
    ML_TRY(TensorView view, whole_view(*entry, checkpoint_shape(desc_, role, part.total, shape.cols)));
    if (row.part == Part::head_first || row.part == Part::head_second) {
      const auto gather = [&](std::span<const std::byte> bytes, std::uint64_t row_bytes) {
        return row_bytes == 0 ? bytes : keep(gather_rows(bytes, row_bytes, part.first, desc_.head_dim));
      };
      view.data = gather(view.data, view.row_bytes());
      view.scales = gather(view.scales, view.row_scale_bytes());
      view.biases = gather(view.biases, view.row_bias_bytes());
      view.seeds = gather(view.seeds, view.row_seed_bytes());
      view.rows = shape.rows;
    } else {
      view = view.rows_at(part.first, shape.rows);
    }
    if (row.plus_one) {
      view = TensorView{.rows = view.rows, .cols = view.cols, .data = keep(with_one_added(view))};
    }
    mapped_.tensors.push_back({role, layer, std::move(name), view});
    used_.insert(entry->name);
    return {};
  }

  std::span<const std::byte> keep(std::vector<std::byte> bytes) {
    const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    mapped_.storage.push_back(kept);
    return *kept;
  }

  std::string missing_text() const {
    const std::string hint =
        lacks_classifier_ ? "; without lm_head.weight the config must say tie_word_embeddings: true" : "";
    return fmt::format("the config implies {} that the checkpoint lacks{}", missing_.text("tensor"), hint);
  }

  struct LayerPart {
    std::uint32_t layer = kNoLayer;
    std::string_view name = {};
  };
  // "self_attn.o_proj.bias" of "model.layers.3.self_attn.o_proj.bias"; empty where there is no such layer.
  LayerPart layer_part(std::string_view name) const {
    const std::string prefix = root_ + "layers.";
    if (!name.starts_with(prefix)) return {};
    name.remove_prefix(prefix.size());
    std::uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.' || layer >= desc_.n_layers())
      return {};
    return {layer, name.substr(static_cast<std::size_t>(end + 1 - name.data()))};
  }

  // Keys and values of the heads that a latent vector stands for: a checkpoint with
  // model-mla-delta.safetensors beside it still has them.
  bool is_replaced(const LayerPart& part) const {
    if (part.layer == kNoLayer || desc_.layers[part.layer].kind != LayerKind::latent_attention) return false;
    return std::any_of(family_.tensors.begin(), family_.tensors.end(), [&](const TensorRow& row) {
      return (row.role == Role::wk || row.role == Role::wv) && row.name == part.name;
    });
  }

  // Every tensor that nothing took must be one that may stay behind.
  Result<void> check_rest() const {
    const auto contains = [](std::span<const std::string_view> names, std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    NameList unknown;
    for (const CheckpointTensor& tensor : checkpoint_.all()) {
      if (tensor.orphan || used_.contains(tensor.name)) continue;
      const bool ignored = std::any_of(family_.ignored.begin(), family_.ignored.end(),
                                       [&](std::string_view end) { return tensor.name.ends_with(end); });
      const bool other = std::any_of(family_.other_parts.begin(), family_.other_parts.end(),
                                     [&](std::string_view start) { return tensor.name.starts_with(start); });
      if (ignored || other || (desc_.shared_classifier && tensor.name == name_of(Role::wcls, kNoLayer)))
        continue;
      const LayerPart part = layer_part(tensor.name);
      if (is_replaced(part)) continue;
      if (!contains(family_.zero_only, part.name)) {
        unknown.add(tensor.name);
      } else if (!all_zero(*tensor.entry->tensor)) {
        return Error{.status = Status::unsupported,
                     .message = "bias is not 0: only those of q_proj, k_proj and v_proj can be kept",
                     .path = *tensor.entry->path,
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
  MappedTensors mapped_;
  TextSet used_;
  NameList missing_;
  std::string last_missing_;
  bool lacks_classifier_ = false;
};

}  // namespace

std::string name_of_expert(std::string stack, std::uint32_t expert) {
  const std::size_t at = stack.rfind(kExperts);
  assert(at != stack.npos);
  return stack.insert(at + kExperts.size(), fmt::format("{}.", expert));
}

std::string name_of_stack(std::string name, std::uint32_t expert) {
  const std::string part = fmt::format("{}{}.", kExperts, expert);
  const std::size_t at = name.rfind(part);
  return at == name.npos ? name : name.replace(at, part.size(), kExperts);
}

std::optional<ExpertName> split_expert_name(std::string_view name, const Family& family) {
  const std::size_t found = name.rfind(kExperts);
  if (found == name.npos) return {};
  const std::size_t at = found + kExperts.size();
  ExpertName result;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), result.expert);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return {};
  result.stack = std::string(name.substr(0, at)) + std::string(end + 1, name.data() + name.size());
  const bool known = std::any_of(family.tensors.begin(), family.tensors.end(), [&](const TensorRow& row) {
    return is_expert(row.role) && result.stack.ends_with(fmt::format(".{}", row.name));
  });
  if (!known || name_of_expert(result.stack, result.expert) != name) return {};
  return result;
}

PartRows part_rows(const ModelDesc& desc, Part part, std::uint64_t rows) {
  const std::uint64_t fused = desc.q_dim() + 2ull * desc.kv_dim();
  switch (part) {
    case Part::whole: return {rows, 0};
    case Part::fused_q: return {fused, 0};
    case Part::fused_k: return {fused, desc.q_dim()};
    case Part::fused_v: return {fused, std::uint64_t(desc.q_dim()) + desc.kv_dim()};
    case Part::first_half: return {2 * rows, 0};
    case Part::second_half: return {2 * rows, rows};
    case Part::head_first: return {2 * rows, 0};
    case Part::head_second: return {2 * rows, desc.head_dim};
  }
  return {rows, 0};
}

const CheckpointTensor* CheckpointTensors::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const auto& entry, std::string_view wanted) { return entry.name < wanted; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

Result<MappedTensors> map_tensors(const CheckpointTensors& checkpoint, const Family& family,
                                  const ModelDesc& desc) {
  ML_TRY(std::string root, find_root(checkpoint));
  return Mapper(checkpoint, family, desc, std::move(root)).map();
}

}  // namespace ml
