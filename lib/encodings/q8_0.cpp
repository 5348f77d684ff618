#include "encodings/q8_0.hpp"

#include "encodings/scales.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

void decode_row_q8_0(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kBlock;
  const std::byte* quants = view.data.data() + row * view.cols;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float d = load_scale(view, row * n_blocks + b);
    for (std::uint64_t j = 0; j < kBlock; ++j) {
      out[b * kBlock + j] = static_cast<float>(static_cast<std::int8_t>(quants[b * kBlock + j])) * d;
    }
  }
}

std::optional<std::uint64_t> encode_q8_0(const kernels::QuantTable& table, std::span<const float> x,
                                         ScaleType scales, std::byte* quants, std::byte* stored, float* d,
                                         std::uint32_t group) {
  const std::uint64_t n_blocks = x.size() / group;
  table.encode_q8_0[kernels::group_index(group)](x.data(), n_blocks, scales == ScaleType::f16,
                                                 reinterpret_cast<std::int8_t*>(quants), d);
  if (const auto bad = store_scales(table, {d, n_blocks}, scales, stored)) return bad;
  // A block's largest weight is 127 d, which may round up past float32.
  const float* const bad = std::find_if(d, d + n_blocks, [](float scale) { return std::isinf(127 * scale); });
  return bad == d + n_blocks ? std::nullopt : std::optional<std::uint64_t>(bad - d);
}

}  // namespace ml
