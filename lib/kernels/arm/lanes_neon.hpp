#pragma once

// Sixteen lanes as four registers of AArch64's Advanced SIMD, for three targets: with the dot products of
// FEAT_DotProd where the compiler may, and for panels the matrix products of FEAT_I8MM (pair_dots.hpp).

#include "kernels/table.hpp"

#include <arm_neon.h>

#include <cstring>

namespace ml::kernels {
namespace {

struct Floats {
  float32x4_t v[4];
};
struct Ints {
  int32x4_t v[4];
};

template <class Op>
inline Floats map(Op op) {
  return {{op(0), op(1), op(2), op(3)}};
}
template <class Op>
inline Ints map_ints(Op op) {
  return {{op(0), op(1), op(2), op(3)}};
}

inline Floats set1(float x) {
  const float32x4_t all = vdupq_n_f32(x);
  return {{all, all, all, all}};
}
inline Floats load(const float* p) {
  return map([&](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(float* p, Floats x) {
  vst1q_f32(p, x.v[0]);
  vst1q_f32(p + 4, x.v[1]);
  vst1q_f32(p + 8, x.v[2]);
  vst1q_f32(p + 12, x.v[3]);
}
inline Floats load_n(const float* p, std::uint64_t n) {
  if (n == kLanes) return load(p);
  float lanes[kLanes] = {};
  std::memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}
inline void store_n(float* p, Floats x, std::uint64_t n) {
  if (n == kLanes) return store(p, x);
  float lanes[kLanes];
  store(lanes, x);
  std::memcpy(p, lanes, n * sizeof(float));
}

inline Floats add(Floats a, Floats b) {
  return map([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
}
inline Floats sub(Floats a, Floats b) {
  return map([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
}
inline Floats mul(Floats a, Floats b) {
  return map([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
}
inline Floats div(Floats a, Floats b) {
  return map([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return map([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
}
// Of an unordered pair the second operand: FMIN and FMAX would give NaN.
inline float32x4_t min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
inline float32x4_t max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline Floats min(Floats a, Floats b) {
  return map([&](int i) { return min(a.v[i], b.v[i]); });
}
inline Floats max(Floats a, Floats b) {
  return map([&](int i) { return max(a.v[i], b.v[i]); });
}
inline Floats abs(Floats a) {
  return map([&](int i) { return vabsq_f32(a.v[i]); });
}
inline Floats copysign(Floats magnitude, Floats sign) {
  const uint32x4_t sign_bit = vdupq_n_u32(0x80000000u);
  return map([&](int i) { return vbslq_f32(sign_bit, sign.v[i], magnitude.v[i]); });
}
inline Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return map([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), yes.v[i], no.v[i]); });
}
inline Floats select_nan(Floats a, Floats yes, Floats no) {
  return map([&](int i) { return vbslq_f32(vceqq_f32(a.v[i], a.v[i]), no.v[i], yes.v[i]); });
}

inline Floats bits_to_floats(Ints a) {
  return map([&](int i) { return vreinterpretq_f32_s32(a.v[i]); });
}
inline Ints floats_to_bits(Floats a) {
  return map_ints([&](int i) { return vreinterpretq_s32_f32(a.v[i]); });
}
inline Ints set1(std::int32_t value) {
  const int32x4_t all = vdupq_n_s32(value);
  return {{all, all, all, all}};
}
inline Ints load(const std::int32_t* p) {
  return map_ints([&](int i) { return vld1q_s32(p + 4 * i); });
}
inline Ints add(Ints a, Ints b) {
  return map_ints([&](int i) { return vaddq_s32(a.v[i], b.v[i]); });
}
inline Ints sub(Ints a, Ints b) {
  return map_ints([&](int i) { return vsubq_s32(a.v[i], b.v[i]); });
}
template <int kBits>
inline Ints shift_left(Ints a) {
  return map_ints([&](int i) { return vshlq_n_s32(a.v[i], kBits); });
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return map_ints([&](int i) { return vshrq_n_s32(a.v[i], kBits); });
}
inline Floats to_floats(Ints a) {
  return map([&](int i) { return vcvtq_f32_s32(a.v[i]); });
}
inline Ints truncate(Floats a) {
  return map_ints([&](int i) { return vcvtq_s32_f32(a.v[i]); });
}
inline void store_i8(std::int8_t* p, Ints a) {
  const int16x8_t low = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}
inline std::int32_t fold_add(Ints a) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3])));
}

// 8 + 8, 4 + 4.
inline float32x4_t fold_to_four(Floats a) {
  return vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
}
inline float fold_add(Floats a) {
  const float32x4_t four = fold_to_four(a);
  return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}
// Lane r is fold_add(rows[r]).
inline Floats fold_rows(const Floats* rows) {
  // 2 + 2 of two rows.
  const auto fold_to_twos = [](const Floats* two_rows) {
    const float64x2_t a = vreinterpretq_f64_f32(fold_to_four(two_rows[0]));
    const float64x2_t b = vreinterpretq_f64_f32(fold_to_four(two_rows[1]));
    return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(a, b)), vreinterpretq_f32_f64(vtrn2q_f64(a, b)));
  };
  return map([&](int i) { return vpaddq_f32(fold_to_twos(rows + 4 * i), fold_to_twos(rows + 4 * i + 2)); });
}
inline float fold_max(Floats a) {
  const float32x4_t four = max(max(a.v[0], a.v[2]), max(a.v[1], a.v[3]));
  const float32x4_t two = max(four, vextq_f32(four, four, 2));
  return vgetq_lane_f32(max(two, vextq_f32(two, two, 1)), 0);
}

inline Floats halves_to_floats(uint16x4_t a, uint16x4_t b, uint16x4_t c, uint16x4_t d) {
  const auto widen = [](uint16x4_t halves) { return vcvt_f32_f16(vreinterpret_f16_u16(halves)); };
  return {{widen(a), widen(b), widen(c), widen(d)}};
}
inline Floats load_f16(const unsigned char* p) {
  const uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(p));
  const uint16x8_t high = vreinterpretq_u16_u8(vld1q_u8(p + 16));
  return halves_to_floats(vget_low_u16(low), vget_high_u16(low), vget_low_u16(high), vget_high_u16(high));
}
inline Floats load_f16_n(const unsigned char* p, std::uint64_t n) {
  if (n == kLanes) return load_f16(p);
  unsigned char lanes[2 * kLanes] = {};
  std::memcpy(lanes, p, 2 * n);
  return load_f16(lanes);
}
inline Floats broadcast_f16(const unsigned char* p) {
  std::uint16_t half;
  __builtin_memcpy(&half, p, sizeof half);
  const float32x4_t all = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
  return {{all, all, all, all}};
}
inline void store_f16_n(std::uint16_t* p, Floats a, std::uint64_t n) {
  const float16x8_t halves[2] = {vcvt_high_f16_f32(vcvt_f16_f32(a.v[0]), a.v[1]),
                                 vcvt_high_f16_f32(vcvt_f16_f32(a.v[2]), a.v[3])};
  std::memcpy(p, halves, 2 * n);
}
inline Floats load_bf16(const unsigned char* p) {
  const uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(p));
  const uint16x8_t high = vreinterpretq_u16_u8(vld1q_u8(p + 16));
  return {{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)),
           vreinterpretq_f32_u32(vshll_high_n_u16(low, 16)),
           vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
           vreinterpretq_f32_u32(vshll_high_n_u16(high, 16))}};
}
inline Floats load_bf16_n(const unsigned char* p, std::uint64_t n) {
  if (n == kLanes) return load_bf16(p);
  unsigned char lanes[2 * kLanes] = {};
  std::memcpy(lanes, p, 2 * n);
  return load_bf16(lanes);
}
inline Floats bytes_to_floats(int8x16_t bytes) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  return to_floats({{vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
                     vmovl_high_s16(high)}});
}
inline Floats load_i8(const unsigned char* p) { return bytes_to_floats(vreinterpretq_s8_u8(vld1q_u8(p))); }
inline uint8x16_t low_nibbles(uint8x16_t a) { return vandq_u8(a, vdupq_n_u8(15)); }
inline uint8x16_t high_nibbles(uint8x16_t a) { return vshrq_n_u8(a, 4); }
inline Floats nibbles_to_floats(uint8x16_t nibbles) {
  return bytes_to_floats(vsubq_s8(vreinterpretq_s8_u8(nibbles), vdupq_n_s8(8)));
}
inline Floats load_low_nibbles(const unsigned char* p) { return nibbles_to_floats(low_nibbles(vld1q_u8(p))); }
inline Floats load_high_nibbles(const unsigned char* p) {
  return nibbles_to_floats(high_nibbles(vld1q_u8(p)));
}

// Bytes in quads: lane i holds bytes 4 i .. 4 i + 3.
struct Bytes {
  uint8x16_t v[4];
};

template <class Op>
inline Bytes map_bytes(Op op) {
  return {{op(0), op(1), op(2), op(3)}};
}

inline Bytes load_quads(const void* p) {
  const auto* from = static_cast<const unsigned char*>(p);
  return map_bytes([&](int i) { return vld1q_u8(from + 16 * i); });
}
// The first n bytes, n <= 64, and zeros.
inline Bytes load_quads_n(const void* p, std::uint64_t n) {
  if (n == sizeof(Bytes)) return load_quads(p);
  unsigned char bytes[sizeof(Bytes)] = {};
  std::memcpy(bytes, p, n);
  return load_quads(bytes);
}
inline Bytes shared(Bytes a) { return a; }
inline void store_quads(void* p, Bytes a) {
  auto* to = static_cast<unsigned char*>(p);
  vst1q_u8(to, a.v[0]);
  vst1q_u8(to + 16, a.v[1]);
  vst1q_u8(to + 32, a.v[2]);
  vst1q_u8(to + 48, a.v[3]);
}
inline Bytes broadcast_quad(const void* p) {
  std::uint32_t quad;
  __builtin_memcpy(&quad, p, sizeof quad);
  const uint8x16_t all = vreinterpretq_u8_u32(vdupq_n_u32(quad));
  return {{all, all, all, all}};
}
inline Bytes low_nibbles(Bytes a) {
  return map_bytes([&](int i) { return low_nibbles(a.v[i]); });
}
inline Bytes high_nibbles(Bytes a) {
  return map_bytes([&](int i) { return high_nibbles(a.v[i]); });
}
// Two Q8 block pairs -> their first halves, their second halves.
inline void split_halves(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  first = {{a.v[0], a.v[2], b.v[0], b.v[2]}};
  second = {{a.v[1], a.v[3], b.v[1], b.v[3]}};
}
// Column k of sixteen rows of 16 bytes, in quads: quad i of columns[k] is bytes 4 k .. 4 k + 3 of row i.
inline void load_columns(const unsigned char* const* rows, std::uint64_t offset, Bytes* columns) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto row = [&](int r) { return vreinterpretq_u32_u8(vld1q_u8(rows[4 * i + r] + offset)); };
    const auto pairs = [](uint32x4_t a) { return vreinterpretq_u64_u32(a); };
    const uint64x2_t even01 = pairs(vtrn1q_u32(row(0), row(1))), odd01 = pairs(vtrn2q_u32(row(0), row(1)));
    const uint64x2_t even23 = pairs(vtrn1q_u32(row(2), row(3))), odd23 = pairs(vtrn2q_u32(row(2), row(3)));
    columns[0].v[i] = vreinterpretq_u8_u64(vtrn1q_u64(even01, even23));
    columns[1].v[i] = vreinterpretq_u8_u64(vtrn1q_u64(odd01, odd23));
    columns[2].v[i] = vreinterpretq_u8_u64(vtrn2q_u64(even01, even23));
    columns[3].v[i] = vreinterpretq_u8_u64(vtrn2q_u64(odd01, odd23));
  }
}
inline Floats quads_to_floats(Bytes a) {
  return map([&](int i) { return vreinterpretq_f32_u8(a.v[i]); });
}
// The IEEE halves in the low or the high two bytes of each quad.
inline Floats low_halves(Bytes a) {
  const auto low = [&](int i) { return vmovn_u32(vreinterpretq_u32_u8(a.v[i])); };
  return halves_to_floats(low(0), low(1), low(2), low(3));
}
inline Floats high_halves(Bytes a) {
  const auto high = [&](int i) { return vshrn_n_u32(vreinterpretq_u32_u8(a.v[i]), 16); };
  return halves_to_floats(high(0), high(1), high(2), high(3));
}

inline int32x4_t add_fours(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}
// Eight values, each with eight partial sums of block 2i and eight of block 2i + 1 -> sixteen block sums.
inline Ints reduce_eights(const Ints* p) {
  const auto block = [&](int b) { return vaddq_s32(p[b / 2].v[b % 2 * 2], p[b / 2].v[b % 2 * 2 + 1]); };
  return map_ints(
      [&](int i) { return add_fours(block(4 * i), block(4 * i + 1), block(4 * i + 2), block(4 * i + 3)); });
}
// Four values, each with four partial sums of blocks 4i .. 4i + 3 -> sixteen block sums.
inline Ints reduce_fours(const Ints* p) {
  return map_ints([&](int i) { return add_fours(p[i].v[0], p[i].v[1], p[i].v[2], p[i].v[3]); });
}

#if defined(__ARM_FEATURE_DOTPROD)
inline int32x4_t dot_quads(int8x16_t weights, int8x16_t x, int32x4_t acc) {
  return vdotq_s32(acc, weights, x);
}
#else
// Two products of at most 127 * 127 fit the 16 bits that their sum has.
inline int32x4_t dot_quads(int8x16_t weights, int8x16_t x, int32x4_t acc) {
  const int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(x));
  const int16x8_t high = vmull_high_s8(weights, x);
  return vpadalq_s16(acc, vpaddq_s16(low, high));
}
#endif

// acc + the exact dot of each quad of signed weights, none of them -128, with one of signed activations.
inline constexpr bool kBiased = false;
inline Bytes prepare_signed(Bytes weights) { return weights; }
inline Ints dot_signed(Bytes prepared, Bytes x, Ints acc) {
  return map_ints([&](int i) {
    return dot_quads(vreinterpretq_s8_u8(prepared.v[i]), vreinterpretq_s8_u8(x.v[i]), acc.v[i]);
  });
}
// The same for unsigned weights of at most 127.
inline Ints dot_unsigned(Bytes weights, Bytes x, Ints acc) { return dot_signed(weights, x, acc); }

// Tile of a panel product: groups of sixteen rows times tokens. Pairs of tokens need sums for six of them to
// pay, which stay in memory between blocks; without pairs three tokens' sums and dots fill the registers.
#if defined(__ARM_FEATURE_MATMUL_INT8)
inline constexpr int kTileGroups = 1, kTileTokens = 6;
#else
inline constexpr int kTileGroups = 1, kTileTokens = 3;
#endif

// Rows of float weights that a tile of four tokens takes.
inline constexpr int kFloatRows = 1;

// Tiles of attention: groups of sixteen keys, groups of sixteen dimensions, each times four queries.
inline constexpr int kKeyGroups = 1, kDimGroups = 1;

}  // namespace
}  // namespace ml::kernels
