#include "encodings/q4_0.hpp"
#include "encodings/scales.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

using kernels::kLanes;
using kernels::Q4Blocks;
using Choose = void (*)(Q4Blocks&);

constexpr float kZeros[kernels::kMaxGroup] = {};

// The blocks of some rows, in the order of the file.
struct Rows {
  std::span<const float> x;
  const Q4Importance* importance;
  std::uint64_t group_size;

  std::uint64_t n_blocks() const { return x.size() / group_size; }
  std::uint64_t block_bytes() const { return group_size / 2; }
  void put(std::uint64_t block, std::uint64_t lane, Q4Blocks& group) const {
    group.x[lane] = x.data() + block * group_size;
    if (importance == nullptr) return;
    const std::uint64_t row_blocks = importance->channels.size() / group_size;
    group.channels[lane] = importance->channels.data() + block % row_blocks * group_size;
    group.mean_square[lane] = importance->mean_squares[block / row_blocks];
  }
};

Q4Blocks empty_group(ScaleType scales) {
  Q4Blocks group = {};
  std::fill_n(group.x, kLanes, kZeros);
  group.f16 = scales == ScaleType::f16;
  return group;
}

// Lanes without a block: zeros, weighed by anything.
void put_zeros(std::uint64_t lane, Q4Blocks& group) {
  group.x[lane] = kZeros;
  group.channels[lane] = group.channels[0];
  group.mean_square[lane] = 0;
}

bool finite(const Q4Blocks& group, std::uint64_t lane) {
  return std::isfinite(group.error[lane]) && std::isfinite(group.d[lane]);
}

// Does a level of a block times its scale overflow? Few scales are large enough to look.
bool overflows(const std::byte* levels, std::uint64_t n_bytes, float d) {
  if (std::isfinite(8 * d)) return false;
  return std::any_of(levels, levels + n_bytes, [d](std::byte pair) {
    const int both = std::to_integer<int>(pair);
    return std::isinf(static_cast<float>((both & 15) - 8) * d) ||
           std::isinf(static_cast<float>((both >> 4) - 8) * d);
  });
}

// A block whose sums left float32's range: chosen alone, scaled to 1; without importance if that is to blame.
void choose_again(const Rows& rows, std::uint64_t block, ScaleType scales, Choose choose, std::byte* quants,
                  float* d) {
  Q4Blocks group = empty_group(scales);
  group.to_unit = true;
  rows.put(block, 0, group);
  for (std::uint64_t lane = 1; lane < kLanes; ++lane) put_zeros(lane, group);
  choose(group);
  if (!finite(group, 0)) {
    std::fill_n(group.channels, kLanes, nullptr);
    choose(group);
  }
  std::memcpy(quants, group.quants, rows.block_bytes());
  *d = group.d[0];
}

std::optional<std::uint64_t> encode(const kernels::QuantTable& table, const Rows& rows, ScaleType scales,
                                    Choose choose, std::byte* quants, std::byte* stored, float* d) {
  Q4Blocks group = empty_group(scales);
  for (std::uint64_t first = 0; first < rows.n_blocks(); first += kLanes) {
    const std::uint64_t n = std::min(kLanes, rows.n_blocks() - first);
    for (std::uint64_t lane = 0; lane < n; ++lane) rows.put(first + lane, lane, group);
    for (std::uint64_t lane = n; lane < kLanes; ++lane) put_zeros(lane, group);
    choose(group);
    std::memcpy(quants + first * rows.block_bytes(), group.quants, n * rows.block_bytes());
    std::copy_n(group.d, n, d + first);
    for (std::uint64_t lane = 0; lane < n; ++lane) {
      const std::uint64_t block = first + lane;
      if (finite(group, lane)) continue;
      choose_again(rows, block, scales, choose, quants + block * rows.block_bytes(), d + block);
    }
  }
  if (const auto bad = store_scales(table, {d, rows.n_blocks()}, scales, stored)) return bad;
  for (std::uint64_t block = 0; block < rows.n_blocks(); ++block)
    if (overflows(quants + block * rows.block_bytes(), rows.block_bytes(), d[block])) return block;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> encode_q4_0_search(const kernels::QuantTable& table, std::span<const float> x,
                                                const Q4Importance* importance, ScaleType scales,
                                                std::byte* quants, std::byte* stored, float* d,
                                                std::uint32_t group) {
  return encode(table, {x, importance, group}, scales, table.search_q4_0[kernels::group_index(group)], quants,
                stored, d);
}

std::optional<std::uint64_t> encode_q4_0_best(const kernels::QuantTable& table, std::span<const float> x,
                                              const Q4Importance* importance, ScaleType scales,
                                              std::byte* quants, std::byte* stored, float* d) {
  return encode(table, {x, importance, kBlock}, scales, table.refine_q4_0, quants, stored, d);
}

std::optional<std::uint64_t> encode_q4_0_round(const kernels::QuantTable& table, std::span<const float> x,
                                               ScaleType scales, std::byte* quants, std::byte* stored,
                                               float* d, std::uint32_t group) {
  const std::uint64_t n_blocks = x.size() / group;
  table.encode_q4_0_round[kernels::group_index(group)](x.data(), n_blocks,
                                                       reinterpret_cast<unsigned char*>(quants), d);
  return store_scales(table, {d, n_blocks}, scales, stored);
}

}  // namespace ml
