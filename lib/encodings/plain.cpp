#include "encodings/plain.hpp"

#include "util/bytes.hpp"
#include "util/half.hpp"

namespace ml {

void decode_row_f32(const TensorView& view, std::uint64_t row, std::span<float> out) {
  std::memcpy(out.data(), view.data.data() + row * view.cols * 4, view.cols * 4);
}

void decode_row_f16(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::byte* in = view.data.data() + row * view.cols * 2;
  for (std::uint64_t c = 0; c < view.cols; ++c) out[c] = f16_to_f32(load_le<std::uint16_t>(in + 2 * c));
}

void decode_row_bf16(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::byte* in = view.data.data() + row * view.cols * 2;
  for (std::uint64_t c = 0; c < view.cols; ++c) out[c] = bf16_to_f32(load_le<std::uint16_t>(in + 2 * c));
}

}  // namespace ml
