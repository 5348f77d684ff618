#pragma once

// Rows of latent caches (nanoseedlm(5), CACHE FORMATS). Include after a lanes header. A row is the latent
// vector of head_dim - 128 elements and the 128 elements of its rotated key:
//
//   fp8   r codes, r / 32 scales, 128 codes, 4 scales
//   fp4   lead codes of fp8, (r - lead) / 2 bytes of fp4, lead / 32 scales, (r - lead) / 16 scales, 128
//   codes,
//         4 scales; lead = min(r, 256)

#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

// E4M3 to float, exactly: its exponent and mantissa lie where those of float32 do, 2^120 too low.
inline Floats load_e4m3(const unsigned char* codes) {
  const Floats as_signed = load_i8(codes);
  const Ints code = truncate(as_signed);
  const Ints magnitude = sub(code, shift_left<7>(shift_right<31>(code)));  // without the sign bit
  return copysign(mul(bits_to_floats(shift_left<20>(magnitude)), set1(0x1p120f)), as_signed);
}
// 2^(scale - 127); 255 is what is not finite.
inline Floats fp8_scale(unsigned char scale) {
  return bits_to_floats(shift_left<23>(set1(std::int32_t{scale})));
}

inline Floats load_fp8(const unsigned char* codes, const unsigned char* scales, std::uint64_t d) {
  return mul(load_e4m3(codes + d), fp8_scale(scales[d / kFp8Block]));
}

inline float e4m3_scale(unsigned char scale) {
  if (scale == kFp4NotFinite) return __builtin_nanf("");
  const std::uint32_t bits = static_cast<std::uint32_t>(scale) << 20;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value * 0x1p120f;
}
inline Floats load_fp4(const unsigned char* bytes, unsigned char scale) {
  constexpr float kValues[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                 -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
  float values[kLanes];
  for (std::uint64_t i = 0; i < kLanes / 2; ++i) {
    values[2 * i] = kValues[bytes[i] & 15];
    values[2 * i + 1] = kValues[bytes[i] >> 4];
  }
  return mul(load(values), set1(e4m3_scale(scale)));
}

struct CacheBf16 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return 2 * head_dim; }
  static Floats load(const unsigned char* row, std::uint64_t, std::uint64_t d, std::uint64_t n) {
    return load_bf16_n(row + 2 * d, n);
  }
};
template <bool kFp4>
struct CacheLatent {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return latent_row_bytes(head_dim, kFp4); }
  static Floats load(const unsigned char* row, std::uint64_t head_dim, std::uint64_t d, std::uint64_t) {
    const LatentRow layout = latent_row(head_dim, kFp4);
    if (d < layout.lead) return load_fp8(row, row + layout.scales, d);
    if (d < layout.rank) {
      const std::uint64_t after = d - layout.lead;
      return load_fp4(row + layout.lead + after / 2, row[layout.scales4 + after / kFp4Block]);
    }
    return load_fp8(row + layout.key, row + layout.key + kRopeDim, d - layout.rank);
  }
};
using CacheFp8 = CacheLatent<false>;
using CacheFp4 = CacheLatent<true>;

}  // namespace
}  // namespace ml::kernels
