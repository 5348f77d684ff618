#pragma once

#include <ml/session.hpp>

#include "kernels/table.hpp"
#include "util/aligned_buffer.hpp"

namespace ml {

/// Keys and values of one attention layer: K, then V, each [n_kv_heads][capacity] rows of head_dim elements.
/// Position p lies in row p mod capacity, so a layer with a window keeps its window only.
class KvCache {
 public:
  /// @param capacity  positions; rounded up to whole blocks of kernels::kKeyBlock
  /// @error nomem
  static Result<KvCache> create(const ModelDesc& desc, std::uint64_t capacity, KvType type);

  /// Stores the key and value rows (kv_dim floats) of one position.
  void store(const kernels::Table& table, std::uint32_t position, const float* key, const float* value);

  const void* keys(std::uint32_t head) const { return bytes_.data() + head * capacity_ * row_bytes_; }
  const void* values(std::uint32_t head) const {
    return bytes_.data() + (n_heads_ + head) * capacity_ * row_bytes_;
  }
  std::uint64_t capacity() const { return capacity_; }
  KvType type() const { return type_; }
  std::uint64_t n_bytes() const { return bytes_.n_bytes(); }

  /// The bytes of one position: its keys of all heads, then its values.
  std::uint64_t position_bytes() const { return 2 * n_heads_ * row_bytes_; }
  void copy_position(std::uint32_t position, std::byte* out) const;
  void restore_position(std::uint32_t position, const std::byte* in);

 private:
  std::byte* row(std::uint64_t half_head, std::uint32_t position) {
    return bytes_.data() + (half_head * capacity_ + position % capacity_) * row_bytes_;
  }
  const std::byte* row(std::uint64_t half_head, std::uint32_t position) const {
    return bytes_.data() + (half_head * capacity_ + position % capacity_) * row_bytes_;
  }
  void store_row(const kernels::Table& table, std::byte* to, const float* from);

  KvType type_ = KvType::f16;
  std::uint64_t capacity_ = 0;
  std::uint64_t n_heads_ = 0;
  std::uint64_t head_dim_ = 0;
  std::uint64_t row_bytes_ = 0;
  AlignedBuffer<std::byte> bytes_;
};

}  // namespace ml
