#pragma once

// More of lanes_neon.hpp: what the integer groups of mog(5) and the encodings of nanoseedlm(5) need.

#include "kernels/arm/lanes_neon.hpp"

namespace ml::kernels {
namespace {

inline Ints bit_and(Ints a, Ints b) {
  return map_ints([&](int i) { return vandq_s32(a.v[i], b.v[i]); });
}
// Lane i is lane i / kN of a.
template <std::uint64_t kN>
inline Floats repeat(Floats a) {
  static_assert(kN == 1 || kN == 2 || kN == 4);
  if constexpr (kN == 1) {
    return a;
  } else if constexpr (kN == 2) {
    return {{vzip1q_f32(a.v[0], a.v[0]), vzip2q_f32(a.v[0], a.v[0]), vzip1q_f32(a.v[1], a.v[1]),
             vzip2q_f32(a.v[1], a.v[1])}};
  } else {
    return {{vdupq_laneq_f32(a.v[0], 0), vdupq_laneq_f32(a.v[0], 1), vdupq_laneq_f32(a.v[0], 2),
             vdupq_laneq_f32(a.v[0], 3)}};
  }
}
// The first eight lanes p[0], the others p[1].
inline Floats spread_two(const float* p) {
  const float32x4_t first = vld1q_dup_f32(p), second = vld1q_dup_f32(p + 1);
  return {{first, first, second, second}};
}
inline Ints quads_to_ints(Bytes a) {
  return map_ints([&](int i) { return vreinterpretq_s32_u8(a.v[i]); });
}
// 0 1 2 3 -> 0 2 1 3 in each four lanes.
inline Ints swap_middle(Ints a) {
  return map_ints([&](int i) {
    return vcombine_s32(vget_low_s32(vuzp1q_s32(a.v[i], a.v[i])), vget_low_s32(vuzp2q_s32(a.v[i], a.v[i])));
  });
}
inline Ints codes_to_ints(uint8x16_t codes) {
  const uint16x8_t low = vmovl_u8(vget_low_u8(codes)), high = vmovl_high_u8(codes);
  return {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), vreinterpretq_s32_u32(vmovl_high_u16(low)),
           vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
           vreinterpretq_s32_u32(vmovl_high_u16(high))}};
}
inline Ints load_u8(const unsigned char* p) { return codes_to_ints(vld1q_u8(p)); }
// The nibbles of 8 bytes, the low one of each first.
inline Ints load_nibble_pairs(const unsigned char* p) {
  const uint8x8_t packed = vld1_u8(p);
  const uint8x8_t low = vand_u8(packed, vdup_n_u8(15)), high = vshr_n_u8(packed, 4);
  return codes_to_ints(vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high)));
}
// Values of such nibbles, value(codes as floats) each.
template <class Value>
struct NibbleValues {
  Value value;
  explicit NibbleValues(Value v) : value(v) {}
  Floats load(const unsigned char* p) const { return value(to_floats(load_nibble_pairs(p))); }
};

inline Bytes bit_xor(Bytes a, Bytes b) {
  return map_bytes([&](int i) { return veorq_u8(a.v[i], b.v[i]); });
}
inline Bytes flip_signs(Bytes a) {
  return map_bytes([&](int i) { return veorq_u8(a.v[i], vdupq_n_u8(0x80)); });
}
// The even bytes of a, then those of b; the odd ones.
inline void split_pairs(Bytes a, Bytes b, Bytes& even, Bytes& odd) {
  even = {{vuzp1q_u8(a.v[0], a.v[1]), vuzp1q_u8(a.v[2], a.v[3]), vuzp1q_u8(b.v[0], b.v[1]),
           vuzp1q_u8(b.v[2], b.v[3])}};
  odd = {{vuzp2q_u8(a.v[0], a.v[1]), vuzp2q_u8(a.v[2], a.v[3]), vuzp2q_u8(b.v[0], b.v[1]),
          vuzp2q_u8(b.v[2], b.v[3])}};
}
// Quads of nibbles, the low one of each byte first: those of bytes 0 and 1 of each quad, of bytes 2 and 3.
inline void zip_nibbles(Bytes packed, Bytes& first, Bytes& second) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t low = low_nibbles(packed.v[i]), high = high_nibbles(packed.v[i]);
    const uint32x4_t front = vreinterpretq_u32_u8(vzip1q_u8(low, high));
    const uint32x4_t back = vreinterpretq_u32_u8(vzip2q_u8(low, high));
    first.v[i] = vreinterpretq_u8_u32(vuzp1q_u32(front, back));
    second.v[i] = vreinterpretq_u8_u32(vuzp2q_u32(front, back));
  }
}

// Quarters of 16 bytes.

// The same 16 bytes in all quarters.
inline Bytes spread(const void* p) {
  const uint8x16_t all = vld1q_u8(static_cast<const unsigned char*>(p));
  return {{all, all, all, all}};
}
// 16 bytes in the first and third quarter, others in the second and fourth.
inline Bytes spread_turns(const void* p, const void* q) {
  const uint8x16_t one = vld1q_u8(static_cast<const unsigned char*>(p));
  const uint8x16_t two = vld1q_u8(static_cast<const unsigned char*>(q));
  return {{one, two, one, two}};
}
// Bytes of a's quarter that the quarter of `places` names, 0 .. 15 each.
inline Bytes shuffle(Bytes a, Bytes places) {
  return map_bytes([&](int i) { return vqtbl1q_u8(a.v[i], places.v[i]); });
}
// The low bytes of the words of a's quarter, then of b's; the high ones.
inline Bytes pack_low_bytes(Bytes a, Bytes b) {
  return map_bytes([&](int i) { return vuzp1q_u8(a.v[i], b.v[i]); });
}
inline Bytes pack_high_bytes(Bytes a, Bytes b) {
  return map_bytes([&](int i) { return vuzp2q_u8(a.v[i], b.v[i]); });
}
// Elements of kSize bytes of a and b in turn: of the first halves of the quarters, of the second halves.
template <std::uint64_t kSize>
inline void zip(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  static_assert(kSize == 1 || kSize == 2 || kSize == 4);
  const auto words = [](uint8x16_t x) { return vreinterpretq_u16_u8(x); };
  const auto longs = [](uint8x16_t x) { return vreinterpretq_u32_u8(x); };
  first = map_bytes([&](int i) {
    return kSize == 1   ? vzip1q_u8(a.v[i], b.v[i])
           : kSize == 2 ? vreinterpretq_u8_u16(vzip1q_u16(words(a.v[i]), words(b.v[i])))
                        : vreinterpretq_u8_u32(vzip1q_u32(longs(a.v[i]), longs(b.v[i])));
  });
  second = map_bytes([&](int i) {
    return kSize == 1   ? vzip2q_u8(a.v[i], b.v[i])
           : kSize == 2 ? vreinterpretq_u8_u16(vzip2q_u16(words(a.v[i]), words(b.v[i])))
                        : vreinterpretq_u8_u32(vzip2q_u32(longs(a.v[i]), longs(b.v[i])));
  });
}
// Signed nibble kAt of each word, 0 the lowest.
template <int kAt>
inline Bytes nibble_of_words(Bytes a) {
  return map_bytes([&](int i) {
    const int16x8_t top = vshlq_n_s16(vreinterpretq_s16_u8(a.v[i]), 12 - 4 * kAt);
    return vreinterpretq_u8_s16(vshrq_n_s16(top, 12));
  });
}
// Of each pair of words the 16 bits after the first `right`, less 32768. right is 1 .. 16 for each word, left
// is 16 - right, factors 2^left: for targets that shift words and for those that multiply them.
inline Bytes windows(Bytes low, Bytes high, Bytes right, Bytes left, Bytes) {
  return map_bytes([&](int i) {
    const int16x8_t down = vnegq_s16(vreinterpretq_s16_u8(right.v[i]));
    const uint16x8_t front = vshlq_u16(vreinterpretq_u16_u8(low.v[i]), down);
    const uint16x8_t back = vshlq_u16(vreinterpretq_u16_u8(high.v[i]), vreinterpretq_s16_u8(left.v[i]));
    return vreinterpretq_u8_u16(veorq_u16(vorrq_u16(front, back), vdupq_n_u16(0x8000)));
  });
}
// acc + the dot of each pair of signed words.
inline Ints dot_words(Bytes a, Bytes b, Ints acc) {
  return map_ints([&](int i) {
    const int16x8_t x = vreinterpretq_s16_u8(a.v[i]), y = vreinterpretq_s16_u8(b.v[i]);
    const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return vaddq_s32(acc.v[i], vpaddq_s32(low, vmull_high_s16(x, y)));
  });
}

}  // namespace
}  // namespace ml::kernels
