#include "kernels/support.hpp"

#include "util/half.hpp"

using namespace ml;

TestMatrix::TestMatrix(Random& random, Encoding encoding, ScaleType scale_type, std::uint64_t rows,
                       std::uint64_t cols, bool extreme) {
  view = {.encoding = encoding, .scale_type = scale_type, .rows = rows, .cols = cols};
  data.resize(1 + rows * view.row_bytes());
  scale_bytes.resize(1 + rows * view.row_scale_bytes());
  const auto put = [](std::byte* to, auto value) { std::memcpy(to, &value, sizeof value); };
  const EncodingInfo& info = encoding_info(encoding);
  std::byte* out = data.data() + 1;
  for (std::uint64_t i = 0; i < rows * cols; ++i) {
    const float value = extreme ? (random.bits() & 1 ? 3e38f : -3e38f) : random.uniform();
    switch (encoding) {
      case Encoding::f32: put(out + 4 * i, value); break;
      case Encoding::f16: put(out + 2 * i, f32_to_f16(value)); break;
      case Encoding::bf16: {
        std::uint32_t bits;
        std::memcpy(&bits, &value, 4);
        put(out + 2 * i, static_cast<std::uint16_t>(bits >> 16));
        break;
      }
      default:  // 4 bits: any byte is two quants; 8 bits: all but -128
        if (info.block_bytes == info.block_weights) {
          put(out + i, static_cast<std::int8_t>(extreme ? (random.bits() & 1 ? 127 : -127)
                                                        : int(random.bits() % 255) - 127));
        } else if (i % 2 == 0) {
          put(out + i / 2,
              static_cast<std::uint8_t>(extreme ? (random.bits() & 1 ? 0x00 : 0xff) : random.bits()));
        }
    }
  }
  const std::uint64_t n_scales = rows * cols / info.block_weights;
  for (std::uint64_t i = 0; i < n_scales; ++i) {
    const float value = extreme ? 60000.0f : random.uniform() * 0.1f;
    if (scale_type == ScaleType::f32) put(scale_bytes.data() + 1 + 4 * i, value);
    if (scale_type == ScaleType::f16) put(scale_bytes.data() + 1 + 2 * i, f32_to_f16(value));
  }
  view.data = std::span<const std::byte>(data).subspan(1);
  view.scales = std::span<const std::byte>(scale_bytes).subspan(1);
}

kernels::WeightMatrix TestMatrix::matrix() const {
  return {.data = reinterpret_cast<const unsigned char*>(view.data.data()),
          .scales = reinterpret_cast<const unsigned char*>(view.scales.data()),
          .cols = view.cols,
          .row_bytes = view.row_bytes(),
          .row_scale_bytes = view.row_scale_bytes(),
          .f16_scales = view.scale_type == ScaleType::f16};
}

unsigned char* panel_scratch(std::uint64_t cols) {
  static std::vector<unsigned char> memory;
  constexpr std::uint64_t kAlignment = 64;
  memory.assign(kernels::panel_bytes(cols) + kAlignment, 0xa5);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kAlignment - address % kAlignment) % kAlignment;
}
