#include "encodings/ggml_blocks.hpp"

#include <ml/encoding.hpp>

#include "util/bytes.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <array>

namespace ml {

namespace {

constexpr std::uint64_t kHalf = kBlock / 2;
constexpr std::uint64_t kSuper = 256;  // weights of a K block

float half_at(const std::byte* at) { return f16_to_f32(load_le<std::uint16_t>(at)); }
unsigned byte_at(const std::byte* at) { return std::to_integer<unsigned>(*at); }
float as_float(int value) { return static_cast<float>(value); }

// Blocks of 32: nibbles, perhaps with a fifth bit, times d, perhaps plus m.
template <bool kFifthBit, bool kMin>
void decode_32(const std::byte* block, std::uint64_t n_blocks, float* out) {
  constexpr std::uint64_t kHead = (kMin ? 4 : 2) + (kFifthBit ? 4 : 0);
  constexpr int kZero = kMin ? 0 : 16;
  for (; n_blocks != 0; --n_blocks, block += kHead + kHalf, out += kBlock) {
    const float d = half_at(block);
    const float m = kMin ? half_at(block + 2) : 0.0f;
    const std::uint32_t fifth = kFifthBit ? load_le<std::uint32_t>(block + kHead - 4) : 0;
    const auto value = [&](unsigned nibble, std::uint64_t j) {
      const unsigned q = nibble | (kFifthBit ? (fifth >> j & 1u) << 4 : 0u);
      const float product = as_float(static_cast<int>(q) - kZero) * d;
      return kMin ? product + m : product;
    };
    for (std::uint64_t j = 0; j < kHalf; ++j) {
      const unsigned pair = byte_at(block + kHead + j);
      out[j] = value(pair & 15u, j);
      out[j + kHalf] = value(pair >> 4, j + kHalf);
    }
  }
}

struct ScaleAndMin {
  unsigned scale;
  unsigned min;
};

// Number k of eight: the first four in the low six bits of bytes k and k + 4, the others in nibbles of bytes
// 8 to 11 with their upper two bits on top of the first eight bytes.
ScaleAndMin scale_and_min(const std::byte* packed, unsigned k) {
  if (k < 4) return {byte_at(packed + k) & 63u, byte_at(packed + k + 4) & 63u};
  const unsigned nibbles = byte_at(packed + k + 4);
  return {(nibbles & 15u) | (byte_at(packed + k - 4) >> 6) << 4, (nibbles >> 4) | (byte_at(packed + k) >> 6)
                                                                                      << 4};
}

// Eight groups of 32: two share 32 bytes of nibbles, the low ones first.
template <bool kFifthBit>
void decode_k(const std::byte* block, std::uint64_t n_blocks, float* out) {
  constexpr std::uint64_t kScales = 4, kFifth = 16, kNibbles = kFifth + (kFifthBit ? 32 : 0);
  for (; n_blocks != 0; --n_blocks, block += kNibbles + kSuper / 2) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    for (unsigned group = 0; group < 8; ++group) {
      const ScaleAndMin packed = scale_and_min(block + kScales, group);
      const float scale = d * static_cast<float>(packed.scale);
      const float min = dmin * static_cast<float>(packed.min);
      const std::byte* nibbles = block + kNibbles + group / 2 * kBlock;
      for (std::uint64_t j = 0; j < kBlock; ++j) {
        unsigned q = group % 2 == 0 ? byte_at(nibbles + j) & 15u : byte_at(nibbles + j) >> 4;
        if (kFifthBit) q |= (byte_at(block + kFifth + j) >> group & 1u) << 4;
        const float product = scale * static_cast<float>(q);
        *out++ = product - min;
      }
    }
  }
}

// Two halves of 128: element 32 g + j of a half has its nibble in byte j of pair g mod 2, low for g < 2, and
// its upper bits in pair g of byte j. A scale covers 16 elements.
void decode_q6_k(const std::byte* block, std::uint64_t n_blocks, float* out) {
  constexpr std::uint64_t kUpper = 128, kScales = 192, kD = 208, kBytes = 210;
  for (; n_blocks != 0; --n_blocks, block += kBytes) {
    const float d = half_at(block + kD);
    for (std::uint64_t i = 0; i < kSuper; ++i) {
      const std::uint64_t half = i / 128, g = i % 128 / 32, j = i % 32;
      const unsigned low = byte_at(block + half * 64 + g % 2 * 32 + j) >> (g < 2 ? 0 : 4) & 15u;
      const unsigned high = byte_at(block + kUpper + half * 32 + j) >> (2 * g) & 3u;
      const float scale = d * as_float(static_cast<std::int8_t>(byte_at(block + kScales + i / 16)));
      *out++ = scale * as_float(static_cast<int>(low | high << 4) - 32);
    }
  }
}

struct Row {
  std::string_view name;
  DecodeGgmlBlocks decode;
};
constexpr std::array kDecoders{
    Row{"Q4_1", decode_32<false, true>}, Row{"Q5_0", decode_32<true, false>},
    Row{"Q5_1", decode_32<true, true>},  Row{"Q4_K", decode_k<false>},
    Row{"Q5_K", decode_k<true>},         Row{"Q6_K", decode_q6_k},
};

}  // namespace

std::optional<std::uint64_t> split_ggml_q8_0(const std::byte* blocks, std::uint64_t n_blocks,
                                             std::byte* quants, std::byte* scales) {
  std::optional<std::uint64_t> bad;
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const std::byte* block = blocks + b * (2 + kBlock);
    std::memcpy(scales + 2 * b, block, 2);
    std::memcpy(quants + b * kBlock, block + 2, kBlock);
    unsigned found = 0;
    for (std::uint64_t j = 0; j < kBlock; ++j) found |= block[2 + j] == std::byte{0x80} ? 1u : 0u;
    if (found != 0 && !bad) bad = b;
  }
  return bad;
}

void split_ggml_q4_0(const std::byte* blocks, std::uint64_t n_blocks, std::byte* quants, std::byte* scales) {
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const std::byte* block = blocks + b * (2 + kHalf);
    std::memcpy(scales + 2 * b, block, 2);
    std::memcpy(quants + b * kHalf, block + 2, kHalf);
  }
}

DecodeGgmlBlocks find_ggml_decoder(std::string_view name) {
  const auto row =
      std::find_if(kDecoders.begin(), kDecoders.end(), [name](const Row& r) { return r.name == name; });
  return row == kDecoders.end() ? nullptr : row->decode;
}

}  // namespace ml
