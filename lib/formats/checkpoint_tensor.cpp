#include "formats/checkpoint_tensor.hpp"

#include "encodings/seed.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace ml {

namespace {

constexpr std::string_view kSeeds = ".seeds";
constexpr std::string_view kScales = ".scales";
// Parts that mean nothing by themselves.
constexpr std::array<std::string_view, 4> kParts{".coefs", ".codes", ".nibbles", ".exp_bias"};

Error defect(const CheckpointEntry& entry, std::string message, Status status = Status::format) {
  return {.status = status,
          .message = std::move(message),
          .path = *entry.path,
          .tensor = show_name(entry.tensor->name)};
}

// 2-D or 3-D, as slices, rows and columns.
struct Dims {
  std::uint64_t slices;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t all_rows() const { return slices * rows; }
};

class Joiner {
 public:
  Joiner(std::span<const CheckpointEntry> entries, DefectList* defects) : defects_(defects) {
    for (const CheckpointEntry& entry : entries) by_name_.emplace(entry.tensor->name, &entry);
  }

  Result<std::vector<CheckpointTensor>> join(std::span<const CheckpointEntry> entries) {
    for (const CheckpointEntry& entry : entries) {
      if (entry.tensor->name.ends_with(kSeeds)) ML_CHECK(pass(join_seeds(entry)));
    }
    for (const CheckpointEntry& entry : entries) {
      if (entry.tensor->name.ends_with(kScales) && !used_.contains(entry.tensor))
        ML_CHECK(pass(join_affine(entry)));
    }
    const bool encoded = !tensors_.empty();
    for (const CheckpointEntry& entry : entries) {
      if (!used_.contains(entry.tensor)) add_plain(entry);
    }
    std::sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const CheckpointTensor& tensor = tensors_[i];
      if (encoded && tensor.name.size() > kMaxEncodedName) {
        ML_CHECK(pass(defect(
            *tensor.entry,
            fmt::format("name has {} bytes, at most {} are allowed", tensor.name.size(), kMaxEncodedName),
            Status::limit)));
      }
      if (i > 0 && tensors_[i - 1].name == tensor.name)
        ML_CHECK(pass(defect(*tensor.entry, fmt::format("{} is there twice", show_name(tensor.name)))));
    }
    return std::move(tensors_);
  }

 private:
  // A defect stops, or is kept where all are wanted.
  Result<void> pass(Result<void> result) {
    if (result || defects_ == nullptr) return result;
    defects_->add(std::move(result.error()));
    return {};
  }

  const CheckpointEntry* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  // `last` times `unit` columns.
  static Result<Dims> dims_of(const CheckpointEntry& entry, std::uint64_t unit) {
    const std::vector<std::uint64_t>& shape = entry.tensor->shape;
    if (shape.size() != 2 && shape.size() != 3) {
      return defect(entry, fmt::format("shape is [{}], must have 2 or 3 dimensions", fmt::join(shape, ", ")),
                    Status::shape);
    }
    const auto cols = (Checked(shape.back()) * unit).get();
    if (!cols || entry.tensor->data.empty()) {
      return defect(entry, fmt::format("shape is [{}], which is no matrix", fmt::join(shape, ", ")),
                    Status::shape);
    }
    return Dims{shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], *cols};
  }

  // A part's bytes, its dtype and size checked.
  Result<const CheckpointEntry*> part(const CheckpointEntry& of, const std::string& name,
                                      std::string_view dtype, Checked n_bytes) {
    const CheckpointEntry* entry = find(name);
    if (entry == nullptr) return defect(of, fmt::format("{} is missing", show_name(name)));
    if (entry->tensor->dtype->name != dtype) {
      return defect(*entry, fmt::format("dtype is {}, must be {}", entry->tensor->dtype->name, dtype));
    }
    if (n_bytes.get() != std::optional<std::uint64_t>(entry->tensor->data.size())) {
      return defect(*entry,
                    fmt::format("holds {} bytes, {} of shape [{}] needs {}", entry->tensor->data.size(),
                                show_name(of.tensor->name), fmt::join(of.tensor->shape, ", "),
                                n_bytes.get() ? std::to_string(*n_bytes.get()) : "over 2^64"));
    }
    used_.insert(entry->tensor);
    return entry;
  }

  static std::vector<std::uint64_t> shape_of(const Dims& dims) {
    std::vector<std::uint64_t> shape;
    if (dims.slices != 1) shape.push_back(dims.slices);
    shape.push_back(dims.rows);
    shape.push_back(dims.cols);
    return shape;
  }

  void add(std::string name, const Dims& dims, const TensorView& view, const CheckpointEntry* data) {
    tensors_.push_back({.name = std::move(name),
                        .shape = shape_of(dims),
                        .dtype = encoding_info(view.encoding).name,
                        .view = view,
                        .entry = data});
  }

  Result<void> join_seeds(const CheckpointEntry& seeds) {
    const std::string base = seeds.tensor->name.substr(0, seeds.tensor->name.size() - kSeeds.size());
    if (seeds.tensor->dtype->name != "U16")
      return defect(seeds, fmt::format("dtype is {}, must be U16", seeds.tensor->dtype->name));
    ML_TRY(const Dims dims, dims_of(seeds, kSeedBlock));
    used_.insert(seeds.tensor);
    TensorView view{.encoding = Encoding::seed4,
                    .rows = dims.all_rows(),
                    .cols = dims.cols,
                    .seeds = seeds.tensor->data,
                    .slice_rows = dims.slices == 1 ? 0 : dims.rows};
    const Checked n_blocks = seeds.tensor->data.size() / 2;
    const CheckpointEntry* data = nullptr;
    if (find(base + ".codes") == nullptr) {
      if (const CheckpointEntry* coefs = find(base + ".coefs");
          coefs != nullptr && find(base + ".nibbles") == nullptr)
        return defect(seeds, fmt::format("{} is missing", show_name(base + ".codes")));
      ML_TRY(data, part(seeds, base + ".nibbles", "U16", n_blocks * 2));
    } else {
      const CheckpointEntry* coefs = find(base + ".coefs");
      const bool wide = coefs != nullptr && coefs->tensor->dtype->name == "U32";
      view.encoding = wide ? Encoding::seed6p8 : Encoding::seed4p4;
      if (dims.cols % encoding_info(view.encoding).block_weights != 0) {
        return defect(
            seeds,
            fmt::format("{} columns, {} needs a multiple of {}", dims.cols, encoding_info(view.encoding).name,
                        encoding_info(view.encoding).block_weights),
            Status::shape);
      }
      ML_TRY(data, part(seeds, base + ".coefs", wide ? "U32" : "U16", n_blocks * (wide ? 4 : 2)));
      ML_TRY(const CheckpointEntry* codes, part(seeds, base + ".codes", "U8", *n_blocks.get() / 2));
      view.scales = codes->tensor->data;
    }
    ML_TRY(const CheckpointEntry* bias, part(seeds, base + ".exp_bias", "I32", Checked(dims.slices) * 4));
    view.data = data->tensor->data;
    view.biases = bias->tensor->data;
    add(base + ".weight", dims, view, data);
    return {};
  }

  Result<void> join_affine(const CheckpointEntry& scales) {
    const std::string base = scales.tensor->name.substr(0, scales.tensor->name.size() - kScales.size());
    if (scales.tensor->dtype->name != "BF16")
      return defect(scales, fmt::format("dtype is {}, must be BF16", scales.tensor->dtype->name));
    ML_TRY(const Dims groups, dims_of(scales, 1));
    const CheckpointEntry* codes = find(base + ".weight");
    const bool named_weight = codes != nullptr;
    if (!named_weight) codes = find(base);
    if (codes == nullptr) return defect(scales, fmt::format("{}.weight is missing", show_name(base)));
    if (codes->tensor->shape.empty()) return defect(*codes, "shape is [], which is no matrix", Status::shape);
    // Words a group: bits * g / 32.
    const std::uint64_t words = codes->tensor->shape.back();
    const std::uint64_t a_group = words % groups.cols == 0 ? words / groups.cols : 0;
    if (a_group != 16 && a_group != 8 && a_group != 4) {
      return defect(
          *codes,
          fmt::format("{} words a row for {} scales, must be 16 (8 bits, groups of 64), 8 (4 bits, groups "
                      "of 64) or 4 (4 bits, groups of 32) a scale",
                      words, groups.cols),
          Status::shape);
    }
    const Encoding encoding = a_group == 16  ? Encoding::q8g64
                              : a_group == 8 ? Encoding::q4g64
                                             : Encoding::q4g32;
    const auto cols = (Checked(groups.cols) * encoding_info(encoding).block_weights).get();
    if (!cols) return defect(scales, "number of columns overflows 64 bits", Status::shape);
    const Dims dims{groups.slices, groups.rows, *cols};
    used_.insert(scales.tensor);
    const Checked n_groups = scales.tensor->data.size() / 2;
    ML_TRY(codes, part(scales, codes->tensor->name, "U32", n_groups * a_group * 4));
    ML_TRY(const CheckpointEntry* biases, part(scales, base + ".biases", "BF16", n_groups * 2));
    ML_CHECK(check_finite(scales));
    ML_CHECK(check_finite(*biases));
    add(named_weight ? base + ".weight" : base, dims,
        TensorView{.encoding = encoding,
                   .rows = dims.all_rows(),
                   .cols = dims.cols,
                   .data = codes->tensor->data,
                   .scales = scales.tensor->data,
                   .biases = biases->tensor->data},
        codes);
    return {};
  }

  static Result<void> check_finite(const CheckpointEntry& entry) {
    const std::span<const std::byte> data = entry.tensor->data;
    for (std::size_t i = 0; i < data.size(); i += 2) {
      if ((load_le<std::uint16_t>(data.data() + i) & 0x7f80u) != 0x7f80u) continue;
      Error error = defect(entry, fmt::format("element {} is not finite", i / 2));
      error.offset = entry.tensor->offset + i;
      return error;
    }
    return {};
  }

  // Weights as rows: the last dimension runs along them.
  void add_plain(const CheckpointEntry& entry) {
    const SafetensorsTensor& tensor = *entry.tensor;
    CheckpointTensor plain{
        .name = tensor.name, .shape = tensor.shape, .dtype = tensor.dtype->name, .entry = &entry};
    if (tensor.dtype->encoding && !tensor.data.empty()) {
      TensorView view{.encoding = *tensor.dtype->encoding, .rows = 1, .cols = 1, .data = tensor.data};
      if (!tensor.shape.empty()) view.cols = tensor.shape.back();
      view.rows = tensor.data.size() * 8 / tensor.dtype->bits / view.cols;
      plain.view = view;
    }
    const bool part = !tensor.dtype->encoding &&
                      std::any_of(kParts.begin(), kParts.end(),
                                  [&](std::string_view end) { return tensor.name.ends_with(end); });
    plain.orphan = part || tensor.dtype->name == "U32";
    tensors_.push_back(std::move(plain));
  }

  TextMap<const CheckpointEntry*> by_name_;
  std::unordered_set<const SafetensorsTensor*> used_;
  std::vector<CheckpointTensor> tensors_;
  DefectList* defects_;
};

}  // namespace

Result<std::vector<CheckpointTensor>> join_entries(std::span<const CheckpointEntry> entries,
                                                   DefectList* defects) {
  return Joiner(entries, defects).join(entries);
}

Error orphan_warning(const CheckpointTensor& tensor) {
  const std::string_view partner = tensor.dtype == "U32" ? ".scales" : ".seeds";
  return defect(*tensor.entry,
                fmt::format("{} values without {} beside them belong to no tensor", tensor.dtype, partner));
}

}  // namespace ml
