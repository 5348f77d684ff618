#include "runtime/kv_cache.hpp"

#include "util/try.hpp"

#include <algorithm>
#include <cstring>

namespace ml {

namespace {

std::uint64_t row_bytes_of(std::uint64_t head_dim, KvType type) {
  switch (type) {
    case KvType::f32: return 4 * head_dim;
    case KvType::f16: return 2 * head_dim;
    case KvType::q8: return kernels::q8_row_bytes(head_dim);
  }
  return 0;
}

// Layout in kernels/table.hpp. The last block of a head whose size is no multiple of 32 is filled up with
// zeros.
void store_q8(const kernels::Table& table, const float* from, std::uint64_t head_dim, std::byte* to) {
  auto* quants = reinterpret_cast<std::int8_t*>(to);
  std::byte* scales = to + kernels::q8_row_blocks(head_dim) * kBlock;
  for (std::uint64_t d = 0; d < head_dim; d += kBlock, scales += sizeof(float)) {
    float block[kBlock] = {};
    std::copy_n(from + d, std::min<std::uint64_t>(kBlock, head_dim - d), block);
    float scale;
    std::int32_t offset;
    table.quantize_q8(block, kBlock, quants + d, &scale, &offset);
    std::memcpy(scales, &scale, sizeof scale);
  }
}

}  // namespace

Result<KvCache> KvCache::create(const ModelDesc& desc, std::uint64_t capacity, KvType type) {
  KvCache cache;
  cache.type_ = type;
  cache.n_heads_ = desc.n_kv_heads;
  cache.head_dim_ = desc.head_dim;
  cache.row_bytes_ = row_bytes_of(desc.head_dim, type);
  const Checked rows = Checked(capacity).round_up(kernels::kKeyBlock);
  const auto n_bytes = (Checked(2) * cache.n_heads_ * rows * cache.row_bytes_).get();
  if (!n_bytes)
    return Error{.status = Status::nomem, .message = "the KV cache is larger than the address space"};
  cache.capacity_ = *rows.get();
  ML_TRY(cache.bytes_, AlignedBuffer<std::byte>::allocate(*n_bytes));
  return cache;
}

void KvCache::store_row(const kernels::Table& table, std::byte* to, const float* from) {
  switch (type_) {
    case KvType::f32: std::memcpy(to, from, row_bytes_); break;
    case KvType::f16: table.to_f16(from, head_dim_, reinterpret_cast<std::uint16_t*>(to)); break;
    case KvType::q8: store_q8(table, from, head_dim_, to); break;
  }
}

void KvCache::store(const kernels::Table& table, std::uint32_t position, const float* key,
                    const float* value) {
  for (std::uint64_t head = 0; head < n_heads_; ++head) {
    store_row(table, row(head, position), key + head * head_dim_);
    store_row(table, row(n_heads_ + head, position), value + head * head_dim_);
  }
}

void KvCache::copy_position(std::uint32_t position, std::byte* out) const {
  for (std::uint64_t half_head = 0; half_head < 2 * n_heads_; ++half_head, out += row_bytes_) {
    std::memcpy(out, row(half_head, position), row_bytes_);
  }
}

void KvCache::restore_position(std::uint32_t position, const std::byte* in) {
  for (std::uint64_t half_head = 0; half_head < 2 * n_heads_; ++half_head, in += row_bytes_) {
    std::memcpy(row(half_head, position), in, row_bytes_);
  }
}

}  // namespace ml
