#include "runtime/latent_codec.hpp"

#include "kernels/table.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace ml {

namespace {

constexpr double kMaxE4m3 = 448;
constexpr std::uint8_t kMaxCode = 0x7e;

// The code of a magnitude up to 448, nearest even. Codes count upward as their values do.
std::uint8_t to_e4m3(double x) {
  constexpr int kLeastExponent = -6;
  constexpr double kLeast = 0x1p-6;
  if (x < kLeast) return static_cast<std::uint8_t>(std::nearbyint(x * 0x1p9));
  const int exponent = std::ilogb(x);
  const auto eighths = static_cast<int>(std::nearbyint(std::ldexp(x, 3 - exponent)));  // 8 .. 16
  return static_cast<std::uint8_t>((exponent - kLeastExponent + 1) * 8 + eighths - 8);
}

double from_e4m3(std::uint8_t code) {
  const int exponent = code >> 3;
  const int mantissa = code & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

// A block rounded to BF16, and its largest magnitude.
template <std::size_t kN>
struct Block {
  explicit Block(std::span<const float> x) {
    for (std::size_t i = 0; i < kN; ++i) {
      value[i] = static_cast<double>(bf16_to_f32(f32_to_bf16(x[i])));
      finite = finite && std::isfinite(value[i]);
      max = std::max(max, std::fabs(value[i]));
    }
  }
  std::array<double, kN> value;
  double max = 0;
  bool finite = true;
};

// The smallest e with 448 2^e >= max, within -126 .. 127.
int fp8_exponent(double max) {
  int e = std::ilogb(max / kMaxE4m3);
  if (std::ldexp(kMaxE4m3, e) < max) ++e;
  return std::clamp(e, -126, 127);
}

void encode_fp8_block(const float* x, std::uint8_t* codes, std::uint8_t& scale) {
  const Block<kernels::kFp8Block> block(std::span(x, kernels::kFp8Block));
  const int e = block.max == 0 || !block.finite ? 0 : fp8_exponent(block.max);
  scale = block.finite ? static_cast<std::uint8_t>(127 + e) : kernels::kFp8NotFinite;
  for (std::size_t i = 0; i < block.value.size(); ++i) {
    const double magnitude = block.finite ? std::ldexp(std::fabs(block.value[i]), -e) : 1;
    const std::uint8_t code = to_e4m3(std::min(magnitude, kMaxE4m3));
    codes[i] = static_cast<std::uint8_t>(code != 0 && block.value[i] < 0 ? code | 0x80 : code);
  }
}

// The code whose 6-fold is next to max, an even one where two are.
std::uint8_t fp4_scale(double max) {
  std::uint8_t code = std::min(to_e4m3(std::min(max / 6, kMaxE4m3)), kMaxCode);
  // max / 6 is rounded: its neighbours decide by exact distances.
  const auto distance = [max](int of) {
    return std::fabs(6 * from_e4m3(static_cast<std::uint8_t>(of)) - max);
  };
  const int lowest = std::max(code - 1, 0);
  const int highest = std::min<int>(code + 1, kMaxCode);
  for (int other = lowest; other <= highest; ++other) {
    if (distance(other) < distance(code) || (distance(other) == distance(code) && other % 2 == 0))
      code = static_cast<std::uint8_t>(other);
  }
  return code;
}

// Values 0, .5, 1, 1.5, 2, 3, 4, 6; the middles between them belong to even codes.
std::uint8_t to_e2m1(double magnitude, double scale) {
  constexpr std::array kMiddles{0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
  std::uint8_t code = 0;
  for (std::size_t i = 0; i < kMiddles.size(); ++i) {
    const double middle = kMiddles[i] * scale;
    if (magnitude > middle || (magnitude == middle && i % 2 == 1)) code = static_cast<std::uint8_t>(i + 1);
  }
  return code;
}

void encode_fp4_block(const float* x, std::uint8_t* bytes, std::uint8_t& scale) {
  const Block<kernels::kFp4Block> block(std::span(x, kernels::kFp4Block));
  scale = block.finite ? fp4_scale(block.max) : kernels::kFp4NotFinite;
  const double factor = from_e4m3(scale);
  const auto code_of = [&](double value) -> std::uint8_t {
    if (scale == 0 || !block.finite) return 0;
    const std::uint8_t code = to_e2m1(std::fabs(value), factor);
    return static_cast<std::uint8_t>(code != 0 && value < 0 ? code | 8 : code);
  };
  for (std::size_t i = 0; i < block.value.size(); i += 2) {
    bytes[i / 2] = static_cast<std::uint8_t>(code_of(block.value[i]) | code_of(block.value[i + 1]) << 4);
  }
}

}  // namespace

void encode_fp8(std::span<const float> x, std::uint8_t* codes, std::uint8_t* scales) {
  for (std::size_t i = 0; i < x.size(); i += kernels::kFp8Block)
    encode_fp8_block(x.data() + i, codes + i, scales[i / kernels::kFp8Block]);
}

void encode_fp4(std::span<const float> x, std::uint8_t* bytes, std::uint8_t* scales) {
  for (std::size_t i = 0; i < x.size(); i += kernels::kFp4Block)
    encode_fp4_block(x.data() + i, bytes + i / 2, scales[i / kernels::kFp4Block]);
}

void encode_latent(std::span<const float> x, bool fp4, std::uint8_t* row) {
  const kernels::LatentRow layout = kernels::latent_row(x.size(), fp4);
  encode_fp8(x.first(layout.lead), row, row + layout.scales);
  encode_fp4(x.subspan(layout.lead, layout.rank - layout.lead), row + layout.lead, row + layout.scales4);
  encode_fp8(x.subspan(layout.rank), row + layout.key, row + layout.key + kernels::kRopeDim);
}

}  // namespace ml
