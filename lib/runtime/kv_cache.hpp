#pragma once

#include <ml/session.hpp>

#include "kernels/table.hpp"
#include "util/aligned_buffer.hpp"

namespace ml {

/// Keys and values of one layer: K, then V, each [n_kv_heads][capacity] rows of head_dim elements; or, for
/// latent attention, [capacity] rows of the latent vector and its rotated key, which are both. Position p
/// lies in row p mod capacity, so a layer with a window keeps its window only.
class KvCache {
 public:
  /// @param layer     with attention of either kind
  /// @param capacity  positions; rounded up to whole blocks of kernels::kKeyBlock
  /// @param type      ordinary attention keeps bf16 for fp8 and fp4
  /// @error nomem
  static Result<KvCache> create(const ModelDesc& desc, const LayerDesc& layer, std::uint64_t capacity,
                                KvType type);

  /// Stores the key and value rows (kv_dim floats) of one position.
  void store(const kernels::Table& table, std::uint32_t position, const float* key, const float* value);
  /// Stores the row of one position of latent attention.
  void store_latent(const kernels::Table& table, std::uint32_t position, const float* row_floats) {
    store_row(table, row(0, position), row_floats);
  }

  const void* keys(std::uint32_t head) const { return bytes_.data() + head * capacity_ * row_bytes_; }
  const void* values(std::uint32_t head) const {
    return bytes_.data() + (n_rows_ / 2 + head) * capacity_ * row_bytes_;
  }
  std::uint64_t capacity() const { return capacity_; }
  KvType type() const { return type_; }
  std::uint64_t n_bytes() const { return bytes_.n_bytes(); }

  /// The bytes of one position: its keys of all heads, then its values; or its one row.
  std::uint64_t position_bytes() const { return n_rows_ * row_bytes_; }
  void copy_position(std::uint32_t position, std::byte* out) const;
  void restore_position(std::uint32_t position, const std::byte* in);

 private:
  std::byte* row(std::uint64_t index, std::uint32_t position) {
    return bytes_.data() + (index * capacity_ + position % capacity_) * row_bytes_;
  }
  const std::byte* row(std::uint64_t index, std::uint32_t position) const {
    return bytes_.data() + (index * capacity_ + position % capacity_) * row_bytes_;
  }
  void store_row(const kernels::Table& table, std::byte* to, const float* from);

  KvType type_ = KvType::f16;
  std::uint64_t capacity_ = 0;
  std::uint64_t n_rows_ = 0;  // of a position: 2 n_kv_heads, or 1
  std::uint64_t row_dim_ = 0;
  std::uint64_t row_bytes_ = 0;
  AlignedBuffer<std::byte> bytes_;
};

/// Bytes that a layer keeps of one position; 0 for linear attention.
std::uint64_t kv_position_bytes(const ModelDesc& desc, const LayerDesc& layer, KvType type);

}  // namespace ml
