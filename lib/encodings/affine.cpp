#include "encodings/affine.hpp"

#include "util/bytes.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

struct Group {
  float scale;
  float bias;
};

Group fit(std::span<const float> x, float top) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const bool negative = std::fabs(*low) > std::fabs(*high);
  const float delta = std::max((*high - *low) / top, 1e-7f);
  const float scale = negative ? delta : -delta;
  const float edge = negative ? *low : *high;
  const float q0 = std::round(edge / scale);
  return q0 != 0 ? Group{edge / q0, edge} : Group{scale, 0};
}

template <unsigned kBits, unsigned kGroup>
std::optional<std::uint64_t> encode(std::span<const float> x, std::byte* codes, std::byte* scales,
                                    std::byte* biases) {
  std::optional<std::uint64_t> overflow;
  constexpr float kTop = (1u << kBits) - 1;
  constexpr unsigned kPerByte = 8 / kBits;
  for (std::size_t g = 0; g < x.size() / kGroup; ++g) {
    const std::span<const float> group = x.subspan(g * kGroup, kGroup);
    const Group fitted = fit(group, kTop);
    const std::uint16_t scale = f32_to_bf16(fitted.scale);
    if (!std::isfinite(kTop * bf16_to_f32(scale))) {
      if (!overflow) overflow = g;
      continue;
    }
    for (std::size_t i = 0; i < kGroup; i += kPerByte) {
      unsigned byte = 0;
      for (unsigned k = 0; k < kPerByte; ++k) {
        const float code = std::round((group[i + k] - fitted.bias) / fitted.scale);
        byte |= static_cast<unsigned>(std::clamp(code, 0.0f, kTop)) << (k * kBits);
      }
      codes[(g * kGroup + i) / kPerByte] = static_cast<std::byte>(byte);
    }
    store_le(scales + 2 * g, scale);
    store_le(biases + 2 * g, f32_to_bf16(fitted.bias));
  }
  return overflow;
}

}  // namespace

template <unsigned kBits, unsigned kGroup, bool kRounded>
void decode_row_affine(const TensorView& view, std::uint64_t row, std::span<float> out) {
  constexpr unsigned kPerByte = 8 / kBits;
  const std::uint64_t n_groups = view.cols / kGroup;
  const std::byte* codes = view.data.data() + row * view.cols / kPerByte;
  for (std::uint64_t g = 0; g < n_groups; ++g) {
    const std::uint64_t at = 2 * (row * n_groups + g);
    const float scale = bf16_to_f32(load_le<std::uint16_t>(view.scales.data() + at));
    const float bias = bf16_to_f32(load_le<std::uint16_t>(view.biases.data() + at));
    for (std::uint64_t c = g * kGroup; c < (g + 1) * kGroup; ++c) {
      const auto byte = std::to_integer<std::uint32_t>(codes[c / kPerByte]);
      const std::uint32_t code = kBits == 8 ? byte : (byte >> (4 * (c % 2))) & 0xfu;
      const float value = scale * static_cast<float>(code) + bias;
      out[c] = kRounded ? bf16_to_f32(f32_to_bf16(value)) : value;
    }
  }
}

template void decode_row_affine<8, 64, true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_affine<8, 64, false>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_affine<4, 64, true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_affine<4, 64, false>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_affine<4, 32, true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_affine<4, 32, false>(const TensorView&, std::uint64_t, std::span<float>);

std::optional<std::uint64_t> encode_affine(Encoding encoding, std::span<const float> x, std::byte* codes,
                                           std::byte* scales, std::byte* biases) {
  if (encoding == Encoding::q8g64) return encode<8, 64>(x, codes, scales, biases);
  if (encoding == Encoding::q4g64) return encode<4, 64>(x, codes, scales, biases);
  return encode<4, 32>(x, codes, scales, biases);
}

}  // namespace ml
