#include "encodings/q4_0.hpp"

#include "encodings/scales.hpp"

namespace ml {

void decode_row_q4_0(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kBlock;
  const std::byte* quants = view.data.data() + row * (view.cols / 2);
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float d = load_scale(view, row * n_blocks + b);
    for (std::uint64_t j = 0; j < kBlock / 2; ++j) {
      const int packed = std::to_integer<int>(quants[b * (kBlock / 2) + j]);
      out[b * kBlock + j] = static_cast<float>((packed & 15) - 8) * d;
      out[b * kBlock + j + kBlock / 2] = static_cast<float>((packed >> 4) - 8) * d;
    }
  }
}

}  // namespace ml
