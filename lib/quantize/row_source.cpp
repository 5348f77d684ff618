#include "quantize/row_source.hpp"

#include "model/rope_rows.hpp"
#include "util/bytes.hpp"

#include <algorithm>

namespace ml {

RowSource::RowSource(const ModelDesc& desc, const Tensor& tensor, std::uint64_t cols,
                     const kernels::QuantTable& table)
    : view_(tensor.view), table_(table), cols_(cols) {
  if (desc.rope.layout != RopeLayout::rotate_half || !rotates(tensor.role)) return;
  head_dim_ = desc.head_dim;
  rot_dim_ = desc.rope.rot_dim;
  permute_elements_ = !is_matrix(tensor.role);
}

std::uint64_t RowSource::source_row(std::uint64_t row) const {
  if (row >= view_.rows) return kNone;
  return head_dim_ == 0 || permute_elements_ ? row : rotate_half_row(row, head_dim_, rot_dim_);
}

// As decode_row(), at the speed of the target.
void RowSource::decode(std::uint64_t row, std::span<float> out) const {
  const auto* data = reinterpret_cast<const unsigned char*>(view_.data.data());
  if (view_.encoding == Encoding::f16) {
    table_.widen_f16(data + row * 2 * view_.cols, view_.cols, out.data());
  } else if (view_.encoding == Encoding::bf16) {
    table_.widen_bf16(data + row * 2 * view_.cols, view_.cols, out.data());
  } else {
    decode_row(view_, row, out);
  }
}

std::span<const float> RowSource::in_place(std::uint64_t row, std::uint64_t n_rows) const {
  const bool same = head_dim_ == 0 && view_.encoding == Encoding::f32 && view_.cols == cols_;
  if (!kLittleEndian || !same || cols_ % kBlock != 0 || row + n_rows > view_.rows) return {};
  const void* data = view_.data.data() + row * cols_ * sizeof(float);
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(float) != 0) return {};
  return {static_cast<const float*>(data), n_rows * cols_};
}

void RowSource::load(std::uint64_t row, std::span<float> out, std::span<float> spare) const {
  const std::uint64_t from = source_row(row);
  if (from == kNone) {
    std::fill_n(out.begin(), cols_, 0.0f);
    return;
  }
  if (permute_elements_) {
    decode(from, spare);
    for (std::uint64_t i = 0; i < cols_; ++i) out[i] = spare[rotate_half_row(i, head_dim_, rot_dim_)];
    return;
  }
  decode(from, out);
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(view_.cols), cols_ - view_.cols, 0.0f);
}

}  // namespace ml
