#pragma once

// More of lanes.hpp: what the integer groups of mog(5) and the encodings of nanoseedlm(5) need.

#include "kernels/scalar/lanes.hpp"

namespace ml::kernels {
namespace {

inline Ints bit_and(Ints a, Ints b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] &= b.lane[i];
  return a;
}
// Lane i is lane i / kN of a.
template <std::uint64_t kN>
inline Floats repeat(Floats a) {
  return map([&](auto i) { return a.lane[i / kN]; });
}
// The first eight lanes p[0], the others p[1].
inline Floats spread_two(const float* p) {
  return map([&](auto i) { return p[i / 8]; });
}
inline Ints quads_to_ints(Bytes a) {
  Ints x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = load_stored<std::int32_t>(a.byte + 4 * i);
  return x;
}
// 0 1 2 3 -> 0 2 1 3 in each four lanes.
inline Ints swap_middle(Ints a) {
  for (std::uint64_t i = 0; i < kLanes; i += 4) {
    const std::int32_t one = a.lane[i + 1];
    a.lane[i + 1] = a.lane[i + 2];
    a.lane[i + 2] = one;
  }
  return a;
}
inline Ints load_u8(const unsigned char* p) {
  Ints x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = p[i];
  return x;
}
// The nibbles of 8 bytes, the low one of each first.
inline Ints load_nibble_pairs(const unsigned char* p) {
  Ints x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = (p[i / 2] >> (i % 2 * 4)) & 15;
  return x;
}
// Values of such nibbles, value(codes as floats) each.
template <class Value>
struct NibbleValues {
  Value value;
  explicit NibbleValues(Value v) : value(v) {}
  Floats load(const unsigned char* p) const { return value(to_floats(load_nibble_pairs(p))); }
};

inline Bytes flip_signs(Bytes a) {
  return map_bytes([&](auto i) { return a.byte[i] ^ 0x80; });
}
// The even bytes of a, then those of b; the odd ones.
inline void split_pairs(Bytes a, Bytes b, Bytes& even, Bytes& odd) {
  const auto pick = [&](std::uint64_t offset) {
    return map_bytes([&](auto i) { return (i < 32 ? a : b).byte[i % 32 * 2 + offset]; });
  };
  even = pick(0);
  odd = pick(1);
}
// Quads of nibbles, the low one of each byte first: those of bytes 0 and 1 of each quad, of bytes 2 and 3.
inline void zip_nibbles(Bytes packed, Bytes& first, Bytes& second) {
  const auto zip = [&](std::uint64_t offset) {
    return map_bytes(
        [&](auto i) { return (packed.byte[i / 4 * 4 + offset + i % 4 / 2] >> (i % 2 * 4)) & 15; });
  };
  first = zip(0);
  second = zip(2);
}

// Quarters of 16 bytes.

inline Bytes bit_xor(Bytes a, Bytes b) {
  return map_bytes([&](auto i) { return a.byte[i] ^ b.byte[i]; });
}
// The same 16 bytes in all quarters.
inline Bytes spread(const void* p) {
  const auto* from = static_cast<const unsigned char*>(p);
  return map_bytes([&](auto i) { return from[i % 16]; });
}
// 16 bytes in the first and third quarter, others in the second and fourth.
inline Bytes spread_turns(const void* p, const void* q) {
  const auto* one = static_cast<const unsigned char*>(p);
  const auto* two = static_cast<const unsigned char*>(q);
  return map_bytes([&](auto i) { return (i / 16 % 2 == 0 ? one : two)[i % 16]; });
}
// Bytes of a's quarter that the quarter of `places` names, 0 .. 15 each.
inline Bytes shuffle(Bytes a, Bytes places) {
  return map_bytes([&](auto i) { return a.byte[i / 16 * 16 + places.byte[i]]; });
}
// The low bytes of the words of a's quarter, then of b's; the high ones.
inline Bytes pack_bytes(Bytes a, Bytes b, std::uint64_t offset) {
  return map_bytes([&](auto i) { return (i % 16 < 8 ? a : b).byte[i / 16 * 16 + i % 8 * 2 + offset]; });
}
inline Bytes pack_low_bytes(Bytes a, Bytes b) { return pack_bytes(a, b, 0); }
inline Bytes pack_high_bytes(Bytes a, Bytes b) { return pack_bytes(a, b, 1); }
// Elements of kSize bytes of a and b in turn: of the first halves of the quarters, of the second halves.
template <std::uint64_t kSize>
inline void zip(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  const auto half = [&](std::uint64_t offset) {
    return map_bytes([&](auto i) {
      const std::uint64_t element = i % 16 / kSize;
      return (element % 2 == 0 ? a : b).byte[i / 16 * 16 + offset + element / 2 * kSize + i % kSize];
    });
  };
  first = half(0);
  second = half(8);
}
template <class Op>
inline Bytes map_words(Op op) {
  Bytes x;
  for (std::uint64_t i = 0; i < 2 * kLanes; ++i) {
    const auto word = static_cast<std::uint16_t>(op(i));
    x.byte[2 * i] = static_cast<unsigned char>(word);
    x.byte[2 * i + 1] = static_cast<unsigned char>(word >> 8);
  }
  return x;
}
inline std::uint16_t word_of(const Bytes& a, std::uint64_t i) {
  return load_stored<std::uint16_t>(a.byte + 2 * i);
}
// Signed nibble kAt of each word, 0 the lowest.
template <int kAt>
inline Bytes nibble_of_words(Bytes a) {
  return map_words([&](auto i) { return (((word_of(a, i) >> (4 * kAt)) & 15) ^ 8) - 8; });
}
// Of each pair of words the 16 bits after the first `right`, less 32768. right is 1 .. 16 for each word, left
// is 16 - right, factors 2^left: for targets that shift words and for those that multiply them.
inline Bytes windows(Bytes low, Bytes high, Bytes right, Bytes, Bytes) {
  return map_words([&](auto i) {
    const std::uint32_t pair = word_of(low, i) | static_cast<std::uint32_t>(word_of(high, i)) << 16;
    return (pair >> word_of(right, i)) ^ 0x8000u;
  });
}
// acc + the dot of each pair of signed words.
inline Ints dot_words(Bytes a, Bytes b, Ints acc) {
  for (std::uint64_t i = 0; i < 2 * kLanes; ++i) {
    acc.lane[i / 2] += static_cast<std::int16_t>(word_of(a, i)) * static_cast<std::int16_t>(word_of(b, i));
  }
  return acc;
}

}  // namespace
}  // namespace ml::kernels
