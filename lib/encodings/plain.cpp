#include "encodings/plain.hpp"

#include "util/bytes.hpp"
#include "util/half.hpp"

#include <bit>

namespace ml {

namespace {

// f16_to_f32() without a branch, so that the loop vectorizes: the multiplication moves the exponent's bias,
// and makes normal numbers of subnormal ones.
float widen(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffu;
  const float moved = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t special =
      (magnitude >= 0x7c00u ? 0x7f800000u : 0u) | (magnitude > 0x7c00u ? 0x400000u : 0u);
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(moved) | special | sign);
}

}  // namespace

void decode_row_f32(const TensorView& view, std::uint64_t row, std::span<float> out) {
  load_le(view.data.data() + row * view.cols * 4, out.first(view.cols));
}

void decode_row_f16(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::byte* in = view.data.data() + row * view.cols * 2;
  for (std::uint64_t c = 0; c < view.cols; ++c) out[c] = widen(load_le<std::uint16_t>(in + 2 * c));
}

void decode_row_bf16(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::byte* in = view.data.data() + row * view.cols * 2;
  for (std::uint64_t c = 0; c < view.cols; ++c) out[c] = bf16_to_f32(load_le<std::uint16_t>(in + 2 * c));
}

}  // namespace ml
