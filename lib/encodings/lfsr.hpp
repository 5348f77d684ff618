#pragma once

// The shift register of seed encodings (nanoseedlm(5), SEEDS): 16 bits, x^16 + x^12 + x^3 + x + 1.
//
//   f      bit 0 ^ bit 1 ^ bit 3 ^ bit 12
//   next   (s >> 1) | (f << 15)
//
// 65535 states follow one another in a cycle; 0 follows itself. The bits that leave the register form a
// stream whose bits k .. k + 15 are the state after k steps: a seed is the stream's first 16 bits.

#include <array>
#include <cstdint>

namespace ml {

inline constexpr std::uint32_t kLfsrPeriod = 65535;

constexpr std::uint16_t lfsr_next(std::uint16_t state) {
  const unsigned s = state;
  const unsigned feedback = (s ^ (s >> 1) ^ (s >> 3) ^ (s >> 12)) & 1u;
  return static_cast<std::uint16_t>((s >> 1) | (feedback << 15));
}

namespace lfsr_detail {

constexpr std::uint32_t bits_after(std::uint16_t seed) {
  std::uint32_t bits = 0;
  for (unsigned k = 0; k < 32; ++k) {
    seed = lfsr_next(seed);
    bits |= static_cast<std::uint32_t>(seed >> 15) << k;
  }
  return bits;
}

// The register is linear over GF(2): the bits of a seed are those of its two bytes, added.
constexpr std::array<std::uint32_t, 256> bits_of_bytes(unsigned shift) {
  std::array<std::uint32_t, 256> table{};
  for (unsigned bit = 1; bit < 256; bit *= 2) {
    const std::uint32_t bits = bits_after(static_cast<std::uint16_t>(bit << shift));
    for (unsigned rest = 0; rest < bit; ++rest) table[bit + rest] = table[rest] ^ bits;
  }
  return table;
}

inline constexpr std::array<std::uint32_t, 256> kLow = bits_of_bytes(0);
inline constexpr std::array<std::uint32_t, 256> kHigh = bits_of_bytes(8);

}  // namespace lfsr_detail

/// Bits 16 .. 47 of a seed's stream.
constexpr std::uint32_t lfsr_bits(std::uint16_t seed) {
  return lfsr_detail::kLow[seed & 0xffu] ^ lfsr_detail::kHigh[seed >> 8];
}

/// The first 48 bits of a seed's stream: states 0 .. 32.
inline std::uint64_t lfsr_stream(std::uint16_t seed) {
  return seed | static_cast<std::uint64_t>(lfsr_bits(seed)) << 16;
}

/// State number k of a stream as a basis element, -32768 .. 32767.
inline std::int32_t basis_element(std::uint64_t stream, unsigned k) {
  return static_cast<std::int32_t>((stream >> k) & 0xffffu) - 32768;
}

}  // namespace ml
