#pragma once

#include <ml/session.hpp>

#include "kernels/table.hpp"
#include "util/aligned_buffer.hpp"

namespace ml {

/// Keys and values of all layers: for each layer, then K or V, then each key-value head, [ctx][head_dim]
/// elements.
class KvCache {
 public:
  /// @error nomem
  static Result<KvCache> create(const ModelDesc& desc, std::uint32_t ctx, KvType type);

  /// Stores the key and value rows (kv_dim floats) of one position of a layer.
  void store(const kernels::Table& table, std::uint32_t layer, std::uint32_t position, const float* key,
             const float* value);

  const void* keys(std::uint32_t layer, std::uint32_t head) const { return head_rows(2ull * layer, head); }
  const void* values(std::uint32_t layer, std::uint32_t head) const {
    return head_rows(2ull * layer + 1, head);
  }
  KvType type() const { return type_; }
  std::uint64_t n_bytes() const { return bytes_.n_bytes(); }

 private:
  std::uint64_t head_offset(std::uint64_t half, std::uint64_t head) const {
    return (half * n_heads_ + head) * ctx_ * row_bytes_;
  }
  const std::byte* head_rows(std::uint64_t half, std::uint64_t head) const {
    return bytes_.data() + head_offset(half, head);
  }
  void store_half(const kernels::Table& table, std::uint64_t half, std::uint32_t position, const float* row);

  KvType type_ = KvType::f16;
  std::uint64_t ctx_ = 0;
  std::uint64_t n_heads_ = 0;
  std::uint64_t head_dim_ = 0;
  std::uint64_t row_bytes_ = 0;
  AlignedBuffer<std::byte> bytes_;
};

}  // namespace ml
