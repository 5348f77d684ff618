#include "convert/recipe_tensor.hpp"

#include "formats/mog_layout.hpp"
#include "model/rope_rows.hpp"
#include "util/checked.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace ml {

namespace {

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Dimensions by name, for bounds like q_dim+kv_dim.
std::optional<std::uint64_t> find_dimension(const RecipeConfig& config, std::string_view name) {
  const ModelDesc& desc = config.desc;
  const std::pair<std::string_view, std::uint64_t> rows[] = {
      {"dim", desc.dim},           {"n_heads", desc.n_heads},      {"n_kv_heads", desc.n_kv_heads},
      {"head_dim", desc.head_dim}, {"q_dim", desc.q_dim()},        {"kv_dim", desc.kv_dim()},
      {"vocab", desc.vocab},       {"rot_dim", desc.rope.rot_dim}, {"hidden_dim", config.source_hidden_dim},
  };
  for (const auto& [known, value] : rows) {
    if (known == name) return value;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return value;
}

// A sum of products of integers and dimensions.
std::optional<std::uint64_t> evaluate(const RecipeConfig& config, std::string_view text) {
  Checked sum = 0;
  for (;;) {
    const std::size_t plus = text.find('+');
    std::string_view term = text.substr(0, plus);
    Checked product = 1;
    for (;;) {
      const std::size_t times = term.find('*');
      const auto factor = find_dimension(config, term.substr(0, times));
      if (!factor) return std::nullopt;
      product = product * *factor;
      if (times == term.npos) break;
      term.remove_prefix(times + 1);
    }
    sum = sum + product;
    if (plus == text.npos) return sum.get();
    text.remove_prefix(plus + 1);
  }
}

bool is_kv(Role role) { return role == Role::wk || role == Role::wv || role == Role::bk || role == Role::bv; }

}  // namespace

std::uint64_t RecipeTensor::unit() const {
  std::uint64_t n = 1;
  for (std::size_t i = 1; i < shape_.size(); ++i) n *= shape_[i];
  return n;
}

void RecipeTensor::make_order() {
  if (order_) return;
  order_.emplace(shape_.empty() ? 0 : shape_[0]);
  for (std::uint64_t i = 0; i < order_->size(); ++i) (*order_)[i] = i * unit();
}

Result<void> RecipeTensor::take_rows(std::string_view bounds, std::uint64_t head_rows,
                                     const std::string& at) {
  const std::size_t colon = bounds.find(':');
  const auto first = evaluate(*config_, bounds.substr(0, colon));
  const auto end = evaluate(*config_, colon == bounds.npos ? "" : bounds.substr(colon + 1));
  if (!first || !end) {
    return recipe_error(
        at, fmt::format("has the bounds \"{}\", must be A:B of integers and dimensions, joined by + "
                        "and *",
                        show_name(bounds)));
  }
  if (*first >= *end || *end > head_rows) {
    return recipe_error(at, fmt::format("takes rows {} to {} of {}", *first, *end, head_rows), Status::shape);
  }
  make_order();
  std::vector<std::uint64_t> taken;
  for (std::uint64_t head = 0; head < shape_[0]; head += head_rows) {
    for (std::uint64_t row = *first; row < *end; ++row) taken.push_back((*order_)[head + row]);
  }
  order_ = std::move(taken);
  shape_[0] = order_->size();
  return {};
}

Result<void> RecipeTensor::interleave(const std::string& at) {
  const std::uint64_t head_dim = config_->desc.head_dim;
  if (shape_[0] % head_dim != 0) {
    return recipe_error(
        at, fmt::format("needs rows in heads of {}, the shape is {}", head_dim, shape_text(shape_)),
        Status::shape);
  }
  make_order();
  std::vector<std::uint64_t> moved(order_->size());
  for (std::uint64_t row = 0; row < moved.size(); ++row)
    moved[row] = (*order_)[rotate_half_row(row, head_dim, config_->desc.rope.rot_dim)];
  order_ = std::move(moved);
  return {};
}

void RecipeTensor::squeeze() {
  std::vector<std::uint64_t> left;
  for (const std::uint64_t dim : shape_) {
    if (dim != 1) left.push_back(dim);
  }
  if (left.empty()) left.push_back(1);
  if (shape_.size() > 1 && shape_[0] == 1 && order_) {  // the rows become those of another axis
    const std::uint64_t base = (*order_)[0];
    order_.reset();
    shape_ = left;
    make_order();
    for (std::uint64_t& place : *order_) place += base;
  }
  shape_ = std::move(left);
}

Result<void> RecipeTensor::apply(const std::string& transform, const std::string& at) {
  constexpr std::string_view kRows = "rows:";
  constexpr std::string_view kHeadRows = "head_rows:";
  const std::string_view text = transform;
  if (text == "squeeze") {
    squeeze();
    return {};
  }
  if (text == "add_one") {
    add_one_ = true;
    return {};
  }
  const bool rows = text == "rope_interleave" || text.starts_with(kRows) || text.starts_with(kHeadRows);
  if (!rows) {
    return recipe_error(at,
                        fmt::format("is \"{}\", must be rope_interleave, add_one, rows:A:B, head_rows:A:B or "
                                    "squeeze",
                                    show_name(text)));
  }
  if (shape_.empty()) return recipe_error(at, "needs rows, the tensor is a single number", Status::shape);
  if (text == "rope_interleave") return interleave(at);
  if (text.starts_with(kRows)) return take_rows(text.substr(kRows.size()), shape_[0], at);
  const std::uint64_t n_heads = is_kv(slot_.role) ? config_->desc.n_kv_heads : config_->desc.n_heads;
  if (shape_[0] == 0 || shape_[0] % n_heads != 0) {
    return recipe_error(
        at, fmt::format("needs the rows of {} heads, the shape is {}", n_heads, shape_text(shape_)),
        Status::shape);
  }
  return take_rows(text.substr(kHeadRows.size()), shape_[0] / n_heads, at);
}

// The shape must be the slot's now, but for zeros up to a hidden_dim that is a multiple of 32.
Result<void> RecipeTensor::fit() {
  const auto dims = mog_dims(config_->desc, slot_.role);
  vector_ = dims[1] == 0;
  std::vector<std::uint64_t> wanted{dims[0]};
  if (!vector_) wanted.push_back(dims[1]);
  std::vector<std::uint64_t> unpadded = wanted;
  if (slot_.role == Role::w1 || slot_.role == Role::w3) unpadded[0] = config_->source_hidden_dim;
  if (slot_.role == Role::w2) unpadded[1] = config_->source_hidden_dim;
  if (shape_ != wanted && shape_ != unpadded) {
    return recipe_error(entry_->at,
                        fmt::format("gives {} the shape {} of tensor {}, the config implies {}", entry_->name,
                                    shape_text(shape_), show_name(entry_->path), shape_text(wanted)),
                        Status::shape);
  }
  rows_ = vector_ ? 1 : wanted[0];
  cols_ = wanted.back();
  source_rows_ = vector_ ? 1 : shape_[0];
  source_cols_ = shape_.back();
  return {};
}

Result<RecipeTensor> RecipeTensor::create(const SafetensorsTensor& tensor, const RecipeEntry& entry,
                                          MogSlot slot, const RecipeConfig& config) {
  if (!tensor.dtype->encoding) {
    return recipe_error(entry.at + ".path",
                        fmt::format("is \"{}\", whose dtype is {}; weights must be F32, F16 or BF16",
                                    show_name(entry.path), tensor.dtype->name),
                        Status::unsupported);
  }
  if (tensor.data.empty()) {  // its other dimensions are bounded by nothing
    return recipe_error(entry.at,
                        fmt::format("gives {} the tensor {} of shape {}, which has no elements", entry.name,
                                    show_name(entry.path), shape_text(tensor.shape)),
                        Status::shape);
  }
  RecipeTensor result(tensor, entry, slot, config);
  for (std::size_t i = 0; i < entry.transforms.size(); ++i) {
    const std::string at =
        entry.transforms.size() == 1 ? entry.at + ".transform" : fmt::format("{}.transform[{}]", entry.at, i);
    ML_CHECK(result.apply(entry.transforms[i], at));
  }
  ML_CHECK(result.fit());
  result.entry_ = nullptr;
  result.config_ = nullptr;
  return result;
}

void RecipeTensor::decode(std::uint64_t first, std::span<float> out) const {
  const std::uint64_t size = encoding_info(encoding_).block_bytes;
  const TensorView view{.encoding = encoding_,
                        .rows = 1,
                        .cols = out.size(),
                        .data = data_.subspan(first * size, out.size() * size)};
  decode_row(view, 0, out);
}

void RecipeTensor::load(std::uint64_t row, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0f);
  if (row >= source_rows_) return;
  const std::span<float> part = out.first(source_cols_);
  if (!order_) {
    decode(row * source_cols_, part);
  } else if (!vector_) {
    decode((*order_)[row], part);
  } else {
    for (std::uint64_t i = 0; i < source_cols_; ++i) decode((*order_)[i], part.subspan(i, 1));
  }
  if (!add_one_) return;
  for (float& value : part) value += 1.0f;
}

}  // namespace ml
