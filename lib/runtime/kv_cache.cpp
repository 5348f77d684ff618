#include "runtime/kv_cache.hpp"

#include "runtime/latent_codec.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <cstring>

namespace ml {

namespace {

struct Rows {
  std::uint64_t n;  // a position
  std::uint64_t dim;
  KvType type;
};

Rows rows_of(const ModelDesc& desc, const LayerDesc& layer, KvType type) {
  if (layer.kind == LayerKind::latent_attention) return {1, std::uint64_t(layer.rank) + desc.head_dim, type};
  const bool latent_only = type == KvType::fp8 || type == KvType::fp4;
  return {2ull * desc.n_kv_heads, desc.head_dim, latent_only ? KvType::bf16 : type};
}

std::uint64_t row_bytes_of(std::uint64_t dim, KvType type) {
  switch (type) {
    case KvType::f32: return 4 * dim;
    case KvType::f16:
    case KvType::bf16: return 2 * dim;
    case KvType::q8: return kernels::q8_row_bytes(dim);
    case KvType::fp8: return kernels::latent_row_bytes(dim, false);
    case KvType::fp4: return kernels::latent_row_bytes(dim, true);
  }
  return 0;
}

void store_bf16(const float* from, std::uint64_t n, std::byte* to) {
  for (std::uint64_t i = 0; i < n; ++i) store_le(to + 2 * i, f32_to_bf16(from[i]));
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
    store_le(scales, scale);
  }
}

}  // namespace

std::uint64_t kv_position_bytes(const ModelDesc& desc, const LayerDesc& layer, KvType type) {
  if (layer.kind == LayerKind::gated_delta) return 0;
  const Rows rows = rows_of(desc, layer, type);
  return rows.n * row_bytes_of(rows.dim, rows.type);
}

Result<KvCache> KvCache::create(const ModelDesc& desc, const LayerDesc& layer, std::uint64_t capacity,
                                KvType type) {
  KvCache cache;
  const Rows rows = rows_of(desc, layer, type);
  cache.type_ = rows.type;
  cache.n_rows_ = rows.n;
  cache.row_dim_ = rows.dim;
  cache.row_bytes_ = row_bytes_of(rows.dim, rows.type);
  const Checked positions = Checked(capacity).round_up(kernels::kKeyBlock);
  const auto n_bytes = (positions * cache.n_rows_ * cache.row_bytes_).get();
  if (!n_bytes)
    return Error{.status = Status::nomem, .message = "the KV cache is larger than the address space"};
  cache.capacity_ = *positions.get();
  ML_TRY(cache.bytes_, AlignedBuffer<std::byte>::allocate(*n_bytes));
  return cache;
}

void KvCache::store_row(const kernels::Table& table, std::byte* to, const float* from) {
  switch (type_) {
    case KvType::f32: std::memcpy(to, from, row_bytes_); break;
    case KvType::f16: table.to_f16(from, row_dim_, reinterpret_cast<std::uint16_t*>(to)); break;
    case KvType::q8: store_q8(table, from, row_dim_, to); break;
    case KvType::bf16: store_bf16(from, row_dim_, to); break;
    case KvType::fp8:
    case KvType::fp4:
      encode_latent({from, row_dim_}, type_ == KvType::fp4, reinterpret_cast<std::uint8_t*>(to));
      break;
  }
}

void KvCache::store(const kernels::Table& table, std::uint32_t position, const float* key,
                    const float* value) {
  const std::uint64_t n_heads = n_rows_ / 2;
  for (std::uint64_t head = 0; head < n_heads; ++head) {
    store_row(table, row(head, position), key + head * row_dim_);
    store_row(table, row(n_heads + head, position), value + head * row_dim_);
  }
}

void KvCache::copy_position(std::uint32_t position, std::byte* out) const {
  for (std::uint64_t i = 0; i < n_rows_; ++i, out += row_bytes_) {
    std::memcpy(out, row(i, position), row_bytes_);
    if (type_ == KvType::f32) order_le(out, sizeof(float), row_dim_);  // the others lie in that order
  }
}

void KvCache::restore_position(std::uint32_t position, const std::byte* in) {
  for (std::uint64_t i = 0; i < n_rows_; ++i, in += row_bytes_) {
    std::memcpy(row(i, position), in, row_bytes_);
    if (type_ == KvType::f32) order_le(row(i, position), sizeof(float), row_dim_);
  }
}

}  // namespace ml
