#pragma once

// Sixteen lanes in plain C++: what every other target must reproduce.

#include "kernels/stored.hpp"
#include "kernels/table.hpp"
#include "util/half.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace ml::kernels {
namespace {

struct Floats {
  float lane[kLanes];
};
struct Ints {
  std::int32_t lane[kLanes];
};

template <class Op>
inline Floats map(Op op) {
  Floats result;
  for (std::uint64_t i = 0; i < kLanes; ++i) result.lane[i] = op(i);
  return result;
}

inline Floats set1(float x) {
  return map([&](auto) { return x; });
}
inline Floats load(const float* p) {
  Floats x;
  std::memcpy(x.lane, p, sizeof x.lane);
  return x;
}
inline void store(float* p, Floats x) { std::memcpy(p, x.lane, sizeof x.lane); }
inline Floats load_n(const float* p, std::uint64_t n) {
  return map([&](auto i) { return i < n ? p[i] : 0.0f; });
}
inline void store_n(float* p, Floats x, std::uint64_t n) { std::memcpy(p, x.lane, n * sizeof(float)); }

inline Floats add(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] + b.lane[i]; });
}
inline Floats sub(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] - b.lane[i]; });
}
inline Floats mul(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] * b.lane[i]; });
}
inline Floats div(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] / b.lane[i]; });
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return map([&](auto i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
// Of an unordered pair the second operand, as the x86 instructions do.
inline Floats min(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Floats max(Floats a, Floats b) {
  return map([&](auto i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Floats abs(Floats a) {
  return map([&](auto i) { return std::fabs(a.lane[i]); });
}
inline Floats copysign(Floats magnitude, Floats sign) {
  return map([&](auto i) { return std::copysign(magnitude.lane[i], sign.lane[i]); });
}
inline Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return map([&](auto i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
}
inline Floats select_nan(Floats a, Floats yes, Floats no) {
  return map([&](auto i) { return a.lane[i] != a.lane[i] ? yes.lane[i] : no.lane[i]; });
}

// Lane by lane: of one memcpy of all, g++ 12 for ARM loses the bytes in code that is inlined deeply.
inline Floats bits_to_floats(Ints a) {
  return map([&](auto i) { return std::bit_cast<float>(a.lane[i]); });
}
inline Ints floats_to_bits(Floats a) {
  Ints x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = std::bit_cast<std::int32_t>(a.lane[i]);
  return x;
}
inline Ints set1(std::int32_t value) {
  Ints x;
  for (auto& lane : x.lane) lane = value;
  return x;
}
inline Ints load(const std::int32_t* p) {
  Ints x;
  std::memcpy(x.lane, p, sizeof x.lane);
  return x;
}
inline Ints add(Ints a, Ints b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] += b.lane[i];
  return a;
}
inline Ints sub(Ints a, Ints b) {
  for (std::uint64_t i = 0; i < kLanes; ++i) a.lane[i] -= b.lane[i];
  return a;
}
template <int kBits>
inline Ints shift_left(Ints a) {
  for (auto& lane : a.lane) lane = static_cast<std::int32_t>(static_cast<std::uint32_t>(lane) << kBits);
  return a;
}
template <int kBits>
inline Ints shift_right(Ints a) {
  for (auto& lane : a.lane) lane >>= kBits;
  return a;
}
inline Floats to_floats(Ints a) {
  return map([&](auto i) { return static_cast<float>(a.lane[i]); });
}
// Toward zero; the values fit.
inline Ints truncate(Floats a) {
  Ints x;
  for (std::uint64_t i = 0; i < kLanes; ++i) x.lane[i] = static_cast<std::int32_t>(a.lane[i]);
  return x;
}
inline void store_i8(std::int8_t* p, Ints a) {
  for (std::uint64_t i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
}
inline std::int32_t fold_add(Ints a) {
  std::int32_t sum = 0;
  for (const auto lane : a.lane) sum += lane;
  return sum;
}

// The folds of ml-numerics(7): 8 + 8, 4 + 4, 2 + 2, 1 + 1.
inline float fold_add(Floats a) {
  for (std::uint64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::uint64_t i = 0; i < half; ++i) a.lane[i] = a.lane[i] + a.lane[i + half];
  }
  return a.lane[0];
}
// Lane r is fold_add(rows[r]).
inline Floats fold_rows(const Floats* rows) {
  return map([&](std::uint64_t i) { return fold_add(rows[i]); });
}
inline float fold_max(Floats a) {
  for (std::uint64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::uint64_t i = 0; i < half; ++i)
      a.lane[i] = a.lane[i] > a.lane[i + half] ? a.lane[i] : a.lane[i + half];
  }
  return a.lane[0];
}

// Weights of other types, little-endian, widened exactly. The _n forms read n elements and leave zeros.
inline Floats load_f16_n(const unsigned char* p, std::uint64_t n) {
  return map([&](auto i) { return i < n ? f16_to_f32(load_stored<std::uint16_t>(p + 2 * i)) : 0.0f; });
}
inline Floats load_f16(const unsigned char* p) { return load_f16_n(p, kLanes); }
inline Floats broadcast_f16(const unsigned char* p) {
  return set1(f16_to_f32(load_stored<std::uint16_t>(p)));
}
inline void store_f16_n(std::uint16_t* p, Floats a, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint16_t half = f32_to_f16(a.lane[i]);
    p[i] = load_stored<std::uint16_t>(&half);
  }
}
inline Floats load_bf16_n(const unsigned char* p, std::uint64_t n) {
  Ints bits = set1(0);
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto high = load_stored<std::uint16_t>(p + 2 * i);
    bits.lane[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(high) << 16);
  }
  return bits_to_floats(bits);
}
inline Floats load_bf16(const unsigned char* p) { return load_bf16_n(p, kLanes); }
inline Floats load_i8(const unsigned char* p) {
  return map([&](auto i) { return static_cast<float>(static_cast<std::int8_t>(p[i])); });
}
// The low or the high nibbles of 16 bytes, minus 8.
inline Floats load_low_nibbles(const unsigned char* p) {
  return map([&](auto i) { return static_cast<float>((p[i] & 15) - 8); });
}
inline Floats load_high_nibbles(const unsigned char* p) {
  return map([&](auto i) { return static_cast<float>((p[i] >> 4) - 8); });
}

// Bytes in quads: lane i holds bytes 4 i .. 4 i + 3.
struct Bytes {
  unsigned char byte[4 * kLanes];
};

template <class Op>
inline Bytes map_bytes(Op op) {
  Bytes result;
  for (std::uint64_t i = 0; i < 4 * kLanes; ++i) result.byte[i] = static_cast<unsigned char>(op(i));
  return result;
}

inline Bytes load_quads(const void* p) {
  Bytes a;
  std::memcpy(a.byte, p, sizeof a.byte);
  return a;
}
// The first n bytes, n <= 64, and zeros.
inline Bytes load_quads_n(const void* p, std::uint64_t n) {
  Bytes a{};
  std::memcpy(a.byte, p, n);
  return a;
}
inline Bytes shared(Bytes a) { return a; }
inline void store_quads(void* p, Bytes a) { std::memcpy(p, a.byte, sizeof a.byte); }
inline Bytes broadcast_quad(const void* p) {
  const auto* quad = static_cast<const unsigned char*>(p);
  return map_bytes([&](auto i) { return quad[i % 4]; });
}
inline Bytes low_nibbles(Bytes a) {
  return map_bytes([&](auto i) { return a.byte[i] & 15; });
}
inline Bytes high_nibbles(Bytes a) {
  return map_bytes([&](auto i) { return a.byte[i] >> 4; });
}
// Two Q8 block pairs -> their first halves, their second halves.
inline void split_halves(Bytes a, Bytes b, Bytes& first, Bytes& second) {
  const auto half = [&](std::uint64_t offset) {
    return map_bytes([&](auto i) { return (i < 32 ? a : b).byte[i / 16 % 2 * 32 + offset + i % 16]; });
  };
  first = half(0);
  second = half(16);
}
// Column k of sixteen rows of 16 bytes, in quads: quad i of columns[k] is bytes 4 k .. 4 k + 3 of row i.
inline void load_columns(const unsigned char* const* rows, std::uint64_t offset, Bytes* columns) {
  for (std::uint64_t k = 0; k < 4; ++k) {
    columns[k] = map_bytes([&](auto i) { return rows[i / 4][offset + 4 * k + i % 4]; });
  }
}
inline Floats quads_to_floats(Bytes a) {
  return map([&](auto i) { return load_stored<float>(a.byte + 4 * i); });
}
// The IEEE halves in the low or the high two bytes of each quad.
inline Floats halves(Bytes a, std::uint64_t offset) {
  return map([&](auto i) { return f16_to_f32(load_stored<std::uint16_t>(a.byte + 4 * i + offset)); });
}
inline Floats low_halves(Bytes a) { return halves(a, 0); }
inline Floats high_halves(Bytes a) { return halves(a, 2); }

// kN values with partial sums, 16 / kN of each of kN blocks -> sixteen block sums.
template <std::uint64_t kPartials>
inline Ints reduce_blocks(const Ints* p) {
  Ints sums = set1(0);
  for (std::uint64_t i = 0; i < kLanes * kPartials; ++i) {
    sums.lane[i / kPartials] += p[i / kLanes].lane[i % kLanes];
  }
  return sums;
}
inline Ints reduce_eights(const Ints* p) { return reduce_blocks<8>(p); }
inline Ints reduce_fours(const Ints* p) { return reduce_blocks<4>(p); }

// acc + the exact dot of each quad of unsigned weights with one of signed activations.
inline Ints dot_unsigned(Bytes weights, Bytes x, Ints acc) {
  for (std::uint64_t i = 0; i < 4 * kLanes; ++i) {
    acc.lane[i / 4] += weights.byte[i] * static_cast<std::int8_t>(x.byte[i]);
  }
  return acc;
}
// The same for signed weights, multiplied as they are.
inline constexpr bool kBiased = false;
inline Bytes prepare_signed(Bytes weights) { return weights; }
inline Ints dot_signed(Bytes prepared, Bytes x, Ints acc) {
  for (std::uint64_t i = 0; i < 4 * kLanes; ++i) {
    acc.lane[i / 4] += static_cast<std::int8_t>(prepared.byte[i]) * static_cast<std::int8_t>(x.byte[i]);
  }
  return acc;
}

// Tile of a panel product: groups of sixteen rows times tokens.
inline constexpr int kTileGroups = 1, kTileTokens = 3;

// Rows of float weights that a tile of four tokens takes.
inline constexpr int kFloatRows = 1;

// Tiles of attention: groups of sixteen keys, groups of sixteen dimensions, each times four queries.
inline constexpr int kKeyGroups = 1, kDimGroups = 1;

}  // namespace
}  // namespace ml::kernels
