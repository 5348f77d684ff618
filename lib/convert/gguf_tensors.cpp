#include "convert/gguf_tensors.hpp"

#include "convert/gguf_copy.hpp"
#include "formats/defect_list.hpp"
#include "model/rope_rows.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ml {

namespace {

constexpr std::array<std::string_view, 4> kZeroOnly{"attn_output.bias", "ffn_gate.bias", "ffn_up.bias",
                                                    "ffn_down.bias"};
constexpr std::string_view kFactors = "rope_freqs.weight";

// One model's tensors becoming ours.
class Mapper {
 public:
  /// @param defects  not null: goes on after a defect, which goes there
  Mapper(const GgufFiles& files, const GgufArch& arch, const ModelDesc& desc,
         const GgufTensorOptions& options, DefectList* defects = nullptr)
      : files_(files), arch_(arch), desc_(desc), options_(options), defects_(defects) {}

  Result<MappedTensors> map() {
    ML_CHECK(plan_all());
    return copy_gguf_tensors(std::move(takes_));
  }

  Result<void> check() {
    ML_CHECK(plan_all());
    for (const GgufTake& take : takes_) {  // what other weights may be is asked of the file's own tensors
      if (take.negative_exp) ML_CHECK(pass(copy_gguf_tensors({take})));
    }
    return {};
  }

 private:
  template <class T>
  Result<void> pass(const Result<T>& result) {
    if (result) return {};
    if (defects_ == nullptr) return result.error();
    defects_->add(result.error());
    return {};
  }

  Result<void> plan_all() {
    ML_TRY(n_further_, GgufKeys(files_, arch_.name).count("nextn_predict_layers", 0));
    ML_CHECK(take(Role::tok_emb, kNoLayer));
    for (std::uint32_t layer = 0; layer < desc_.n_layers(); ++layer) {
      for (const Role role : layer_roles(desc_, desc_.layers[layer])) ML_CHECK(take(role, layer));
    }
    ML_CHECK(take(Role::final_norm, kNoLayer));
    if (!desc_.shared_classifier) ML_CHECK(take(Role::wcls, kNoLayer));
    if (!missing_.empty()) {
      ML_CHECK(pass(Result<void>(Error{
          .status = Status::format,
          .message = fmt::format("the metadata implies {} that the file lacks", missing_.text("tensor"))})));
    }
    return check_rest();
  }

  static std::string name_of(const TensorRow& row, std::uint32_t layer) {
    return layer == kNoLayer ? std::string(row.name) : fmt::format("blk.{}.{}", layer, row.name);
  }

  Result<void> take(Role role, std::uint32_t layer) {
    std::string first;
    for (const std::span<const TensorRow> rows : arch_.tensors) {
      for (const TensorRow& row : rows) {
        if (row.role != role) continue;
        const std::string name = name_of(row, layer);
        const GgufFiles::Found found = files_.find(name);
        if (found.tensor != nullptr) return take_found(row, layer, found);
        if (first.empty()) first = name;
      }
    }
    missing_.add(first.empty() ? tensor_name(role, layer) : first);
    return {};
  }

  Result<void> take_found(const TensorRow& row, std::uint32_t layer, const GgufFiles::Found& found) {
    used_.insert(found.tensor->name);
    const Shape shape = role_shape(desc_, row.role);
    auto taken = plan(row, shape, *found.tensor);
    if (!taken) {
      if (taken.error().tensor.empty()) taken.error().tensor = show_name(found.tensor->name);
      return pass(Result<void>(with_path(std::move(taken.error()), found.part->path)));
    }
    taken->role = row.role;
    taken->layer = layer;
    taken->path = &found.part->path;
    takes_.push_back(std::move(*taken));
    return {};
  }

  Result<GgufTake> plan(const TensorRow& row, const Shape& shape, const GgufTensor& tensor) const {
    GgufTake take{.tensor = &tensor, .rows = shape.rows, .cols = shape.cols};
    const bool vector = !is_matrix(row.role) && row.role != Role::lconv;
    // A vector's elements are what a matrix's rows are.
    const std::uint64_t n = vector ? shape.cols : shape.rows;
    const PartRows part = part_rows(desc_, row.part, n);
    std::vector<std::uint64_t> wanted{shape.cols, part.total};
    if (vector) wanted = {part.total};
    if (!same_shape(tensor.dims, wanted)) {
      return Error{.status = Status::shape,
                   .message = fmt::format("shape is [{}], the metadata implies [{}]",
                                          fmt::join(tensor.dims, ", "), fmt::join(wanted, ", "))};
    }
    const bool heads = row.part == Part::head_first || row.part == Part::head_second;
    const bool turned = rotates(row.role) && !arch_.interleaved;
    const std::uint64_t first_value = first_value_row(row.role);
    if (heads || turned || first_value < n) {
      take.order.resize(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        std::uint64_t from = i;
        if (turned) from = rotate_half_row(i, desc_.head_dim, desc_.rope.rot_dim);
        if (i >= first_value) from = first_value + tiled_row(i - first_value, row.role);
        if (heads) from += from / desc_.head_dim * desc_.head_dim;
        take.order[i] = part.first + from;
      }
    }
    take.first_row = part.first;
    take.vector = vector;
    if (row.role == Role::a_log) take.negative_exp = true;
    if (row.role == Role::lout && moves_values()) {
      take.col_order.resize(desc_.linear.v_heads);
      for (std::uint64_t head = 0; head < take.col_order.size(); ++head)
        take.col_order[head] = tiled_head(head);
    }
    ML_CHECK(choose_encoding(row.role, tensor, take));
    return take;
  }

  // Trailing dimensions of 1 say nothing.
  static bool same_shape(std::vector<std::uint64_t> dims, const std::vector<std::uint64_t>& wanted) {
    while (dims.size() > wanted.size() && dims.back() == 1) dims.pop_back();
    return dims == wanted;
  }

  bool moves_values() const {
    return arch_.tiled_values && desc_.linear.k_heads != 0 && desc_.linear.k_heads != desc_.linear.v_heads;
  }

  // Our value head h of group h / r -> its place where every group's first head comes first.
  std::uint64_t tiled_head(std::uint64_t head) const {
    const std::uint64_t group = desc_.linear.v_heads / desc_.linear.k_heads;
    return head % group * desc_.linear.k_heads + head / group;
  }

  // The first row that belongs to value heads; beyond any row for roles without them.
  std::uint64_t first_value_row(Role role) const {
    if (!moves_values()) return UINT64_MAX;
    switch (role) {
      case Role::lqkv:
      case Role::lconv: return 2ull * desc_.linear.k_heads * desc_.linear.k_dim;
      case Role::lz:
      case Role::lb:
      case Role::la:
      case Role::dt_bias:
      case Role::a_log: return 0;
      default: return UINT64_MAX;
    }
  }

  std::uint64_t tiled_row(std::uint64_t row, Role role) const {
    const bool whole_heads = role == Role::lqkv || role == Role::lconv || role == Role::lz;
    const std::uint64_t size = whole_heads ? desc_.linear.v_dim : 1;
    return tiled_head(row / size) * size + row % size;
  }

  Result<void> choose_encoding(Role role, const GgufTensor& tensor, GgufTake& take) const {
    const auto refuse = [&](std::string why) {
      return Error{.status = Status::unsupported,
                   .message = fmt::format("type is {}, {}", tensor.type->name, why)};
    };
    const std::optional<Encoding> encoding = tensor.type->encoding;
    take.encoding = encoding.value_or(Encoding::f32);
    const bool quantized = !encoding || encoding_info(*encoding).quantized;
    if (!is_matrix(role) && quantized) return refuse("must be F32, F16 or BF16");
    if (!encoding) {
      take.decode = find_ggml_decoder(tensor.type->name);
      if (take.decode == nullptr) return refuse("weights must be F32, F16, BF16, Q8_0 or Q4_0");
      if (!options_.decode) {
        return refuse("weights must be F32, F16, BF16, Q8_0 or Q4_0 (mlb-quant --requantize converts it)");
      }
    }
    if (!take.col_order.empty() && quantized && desc_.linear.v_dim % tensor.type->block_weights != 0 &&
        take.decode == nullptr) {
      return refuse(fmt::format("whose blocks of {} do not fit value heads of {}", tensor.type->block_weights,
                                desc_.linear.v_dim));
    }
    return {};
  }

  // Every tensor that nothing took must be one that may stay behind.
  Result<void> check_rest() {
    NameList unknown;
    for (const GgufPart& part : files_.parts()) {
      for (const GgufTensor& tensor : part.file.tensors) {
        if (used_.contains(tensor.name) || tensor.name == kFactors || beyond_layers(tensor.name)) continue;
        const std::string_view last = tensor.name.substr(tensor.name.find('.', 4) + 1);
        const bool zero_only = tensor.name.starts_with("blk.") &&
                               std::find(kZeroOnly.begin(), kZeroOnly.end(), last) != kZeroOnly.end();
        if (!zero_only) {
          unknown.add(tensor.name);
        } else if (std::any_of(tensor.data.begin(), tensor.data.end(),
                               [](std::byte byte) { return byte != std::byte{0}; })) {
          ML_CHECK(pass(Result<void>(
              Error{.status = Status::unsupported,
                    .message = "bias is not 0: only those of queries, keys and values can be kept",
                    .path = part.path,
                    .tensor = show_name(tensor.name)})));
        }
      }
    }
    if (unknown.empty()) return {};
    return pass(Result<void>(
        Error{.status = Status::format,
              .message = fmt::format("the file holds {} that a {} model with this metadata has not",
                                     unknown.text("tensor"), arch_.name)}));
  }

  // Of a layer that predicts further tokens.
  bool beyond_layers(std::string_view name) const {
    constexpr std::string_view kPrefix = "blk.";
    if (!name.starts_with(kPrefix)) return false;
    std::uint64_t layer = 0;
    const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
    return error == std::errc() && layer >= desc_.n_layers() && layer - desc_.n_layers() < n_further_;
  }

  const GgufFiles& files_;
  const GgufArch& arch_;
  const ModelDesc& desc_;
  const GgufTensorOptions options_;
  DefectList* const defects_;
  std::vector<GgufTake> takes_;
  std::uint64_t n_further_ = 0;  // layers that predict further tokens, behind the model's own
  TextSet used_;
  NameList missing_;
};

}  // namespace

Result<MappedTensors> map_gguf_tensors(const GgufFiles& files, const GgufArch& arch, const ModelDesc& desc,
                                       const GgufTensorOptions& options) {
  return Mapper(files, arch, desc, options).map();
}

std::vector<Error> check_gguf_tensors(const GgufFiles& files, const GgufArch& arch, const ModelDesc& desc) {
  DefectList defects;
  if (auto done = Mapper(files, arch, desc, {.decode = true}, &defects).check(); !done)
    defects.add(std::move(done.error()));
  return defects.take();
}

}  // namespace ml
