#include "runtime/kv_cache.hpp"

#include "util/try.hpp"

#include <cstring>

namespace ml {

Result<KvCache> KvCache::create(const ModelDesc& desc, std::uint32_t ctx, KvType type) {
  KvCache cache;
  cache.type_ = type;
  cache.ctx_ = ctx;
  cache.n_heads_ = desc.n_kv_heads;
  cache.head_dim_ = desc.head_dim;
  cache.row_bytes_ = desc.head_dim * (type == KvType::f16 ? 2ull : 4ull);
  const auto n_bytes = (Checked(2) * desc.n_layers() * cache.n_heads_ * ctx * cache.row_bytes_).get();
  if (!n_bytes)
    return Error{.status = Status::nomem, .message = "the KV cache is larger than the address space"};
  ML_TRY(cache.bytes_, AlignedBuffer<std::byte>::allocate(*n_bytes));
  return cache;
}

void KvCache::store(const kernels::Table& table, std::uint32_t layer, std::uint32_t position,
                    const float* key, const float* value) {
  store_half(table, 2ull * layer, position, key);
  store_half(table, 2ull * layer + 1, position, value);
}

void KvCache::store_half(const kernels::Table& table, std::uint64_t half, std::uint32_t position,
                         const float* row) {
  for (std::uint64_t head = 0; head < n_heads_; ++head, row += head_dim_) {
    std::byte* to = bytes_.data() + head_offset(half, head) + position * row_bytes_;
    switch (type_) {
      case KvType::f32: std::memcpy(to, row, row_bytes_); break;
      case KvType::f16: table.to_f16(row, head_dim_, reinterpret_cast<std::uint16_t*>(to)); break;
    }
  }
}

}  // namespace ml
