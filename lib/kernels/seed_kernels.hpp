#pragma once

// Seeds (nanoseedlm(5), SEEDS) as rows of floats (float_rows.hpp). Include after a lanes header.
//
// A weight is float32(sum over p of S[c][p] q_p) * scale. The rounding of that product is the weight, so the
// bases cannot be multiplied with activations first; what can be saved is the making of S.
//
// 64 blocks (512 weights) are prepared together: the shift register is linear over GF(2), so the 32 bits that
// follow a seed are sums of four entries of tables of 16, sixteen shuffles for 64 seeds. A block's 48 bits,
// its coefficients and its scale then lie in records. Two blocks are sixteen weights: word (c, p mod 2) of
// register p / 2 is the window of 16 bits that is S[c][p], cut out of two neighbouring words by shifts or
// products, and the dot of words with the coefficients gives the sum.
//
// With 512 bits that is, for sixteen weights and P = 4: 2 shuffles of the stream and 2 of coefficients, 4
// shifts, 2 logic, 2 dots, conversion, scale, product and the fma, 17 with the scale's spreading, and 4 of
// the preparation: about 1.3 instructions a weight. That bounds it, far below the bandwidth of memory.

#include "encodings/lfsr.hpp"
#include "kernels/float_rows.hpp"

namespace ml::kernels {
namespace {

inline constexpr std::uint64_t kSeedColumns = 8;   // weights of a block
inline constexpr std::uint64_t kChunkBlocks = 64;  // that are prepared together

struct SeedTables {
  alignas(64) unsigned char bits[4][4][16];  // byte of bits 16 .. 47, nibble of the seed, its value
};
constexpr SeedTables make_seed_tables() {
  SeedTables tables{};
  for (unsigned byte = 0; byte < 4; ++byte) {
    for (unsigned nibble = 0; nibble < 4; ++nibble) {
      for (unsigned value = 0; value < 16; ++value) {
        const std::uint32_t bits = lfsr_bits(static_cast<std::uint16_t>(value << (4 * nibble)));
        tables.bits[byte][nibble][value] = static_cast<unsigned char>(bits >> (8 * byte));
      }
    }
  }
  return tables;
}
inline constexpr SeedTables kSeedTables = make_seed_tables();

// Where register kM finds its words in the records of two blocks. Quarters 0 and 1 are columns 0 .. 3 and 4
// .. 7 of the first block, 2 and 3 of the second; P = 8 has a stream of its own for columns 4 .. 7.
struct SeedPlaces {
  alignas(64) unsigned char low[64], high[64], coefficients[64];
  alignas(64) unsigned char right[64], left[64], factors[64];  // words, little-endian
};
template <unsigned kP>
constexpr SeedPlaces make_seed_places(unsigned m) {
  SeedPlaces places{};
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned block = i / 16;
    const unsigned c = i / 2 % (kP == 8 ? 4 : 8);
    const unsigned p = 2 * m + i % 2;
    const unsigned k = kP * c + (p < kP ? p : 0) + 1;  // a coefficient past the last is 0
    const unsigned word = (k - 1) / 16;
    const unsigned right = k - 16 * word;
    const unsigned left = 16 - right;
    for (unsigned byte = 0; byte < 2; ++byte) {
      places.right[2 * i + byte] = static_cast<unsigned char>(right >> (8 * byte));
      places.left[2 * i + byte] = static_cast<unsigned char>(left >> (8 * byte));
      places.factors[2 * i + byte] = static_cast<unsigned char>((1u << left) >> (8 * byte));
      places.low[2 * i + byte] = static_cast<unsigned char>(8 * block + 2 * word + byte);
      places.high[2 * i + byte] = static_cast<unsigned char>(8 * block + 2 * word + 2 + byte);
      places.coefficients[2 * i + byte] = static_cast<unsigned char>(8 * block + 2 * (p % 4) + byte);
    }
  }
  return places;
}
template <unsigned kP, unsigned kM>
inline constexpr SeedPlaces kSeedPlaces = make_seed_places<kP>(kM);

constexpr bool same_bytes(const unsigned char* a, const unsigned char* b) {
  for (int i = 0; i < 64; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Words that follow 64 seeds in their streams.
inline void seed_words(const Bytes* seeds, Bytes* second, Bytes* third) {
  const Bytes low = pack_low_bytes(seeds[0], seeds[1]);
  const Bytes high = pack_high_bytes(seeds[0], seeds[1]);
  const Bytes nibbles[4] = {low_nibbles(low), high_nibbles(low), low_nibbles(high), high_nibbles(high)};
  Bytes bytes[4];
#pragma GCC unroll 8
  for (int byte = 0; byte < 4; ++byte) {
    const auto look_up = [&](int i) { return shuffle(spread(kSeedTables.bits[byte][i]), nibbles[i]); };
    bytes[byte] = bit_xor(bit_xor(look_up(0), look_up(1)), bit_xor(look_up(2), look_up(3)));
  }
  zip<1>(bytes[0], bytes[1], second[0], second[1]);
  zip<1>(bytes[2], bytes[3], third[0], third[1]);
}

// Four words of each of 32 blocks -> records of 8 bytes; those of blocks 8 i + 2 j and the next one begin at
// 64 j + 16 i.
inline void store_records(Bytes a, Bytes b, Bytes c, Bytes d, unsigned char* to) {
  Bytes ab[2], cd[2], records[4];
  zip<2>(a, b, ab[0], ab[1]);
  zip<2>(c, d, cd[0], cd[1]);
  zip<4>(ab[0], cd[0], records[0], records[1]);
  zip<4>(ab[1], cd[1], records[2], records[3]);
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) store_quads(to + 64 * i, records[i]);
}

template <unsigned kP>
struct SeedRow {
  static constexpr int kStreams = kP == 8 ? 2 : 1;
  static constexpr int kRegisters = (kP + 1) / 2;
  static constexpr std::uint64_t kDataBytes = kP == 8 ? 4 : 2;

  struct Chunk {
    alignas(64) unsigned char streams[kStreams][kChunkBlocks * 8];
    alignas(64) unsigned char coefficients[kStreams][kChunkBlocks * 8];
    alignas(64) float scales[kChunkBlocks];
  };

  const unsigned char* seeds;
  const unsigned char* data;
  const unsigned char* codes;
  std::int32_t exponent;

  SeedRow(const WeightMatrix& w, std::uint64_t r)
      : seeds(w.seeds + r * (w.cols / kSeedColumns) * 2),
        data(w.data + r * w.row_bytes),
        codes(kP == 3 ? data : w.scales + r * w.row_scale_bytes) {
    const std::uint64_t slice = w.slice_rows == 0 ? 0 : r / w.slice_rows;
    exponent = load_stored<std::int32_t>(w.biases + 4 * slice);
  }

  template <class Use>
  void each(std::uint64_t cols, Use use) const {
    constexpr std::int32_t kNormal = 100;  // scales far from the ends of float32
    if (exponent >= -kNormal && exponent <= kNormal) {
      each_chunk<true>(cols, use);
    } else {
      each_chunk<false>(cols, use);
    }
  }

 private:
  template <bool kNormal, class Use>
  void each_chunk(std::uint64_t cols, Use use) const {
    const std::uint64_t n_blocks = cols / kSeedColumns;
    Chunk chunk;
    for (std::uint64_t begin = 0; begin < n_blocks; begin += kChunkBlocks) {
      const std::uint64_t n = n_blocks - begin < kChunkBlocks ? n_blocks - begin : kChunkBlocks;
      if (n == kChunkBlocks) {
        prepare<kNormal>(seeds + 2 * begin, data + kDataBytes * begin, codes + begin / 2, chunk);
      } else {  // the rest are blocks of coefficients 0
        unsigned char rest[kChunkBlocks * (2 + kDataBytes) + kChunkBlocks / 2] = {};
        unsigned char* rest_data = rest + kChunkBlocks * 2;
        unsigned char* rest_codes = rest_data + kChunkBlocks * kDataBytes;
        __builtin_memcpy(rest, seeds + 2 * begin, 2 * n);
        __builtin_memcpy(rest_data, data + kDataBytes * begin, kDataBytes * n);
        if (kP != 3) __builtin_memcpy(rest_codes, codes + begin / 2, n / 2);
        prepare<kNormal>(rest, rest_data, rest_codes, chunk);
      }
      const std::uint64_t n_pairs = (n + 1) / 2;
      for (std::uint64_t pair = 0; pair < n_pairs; pair += 4) {
        const std::uint64_t at = pair / 16 * 256 + pair % 16 * 4;
        const auto use_pair = [&](std::uint64_t i) {
          use((begin + 2 * (pair + i)) * kSeedColumns, weights<kNormal>(chunk, pair + i, at + 64 * i));
        };
        if (pair + 4 <= n_pairs) {
#pragma GCC unroll 4
          for (std::uint64_t i = 0; i < 4; ++i) use_pair(i);
        } else {
          for (std::uint64_t i = 0; pair + i < n_pairs; ++i) use_pair(i);
        }
      }
    }
  }

  template <bool kNormal>
  void prepare(const unsigned char* seed, const unsigned char* word, const unsigned char* code,
               Chunk& chunk) const {
    Bytes first[2] = {load_quads(seed), load_quads(seed + 64)};
#pragma GCC unroll 2
    for (int stream = 0; stream < kStreams; ++stream) {
      Bytes second[2], third[2];
      seed_words(first, second, third);
      for (int half = 0; half < 2; ++half) {
        store_records(first[half], second[half], third[half], third[half],
                      chunk.streams[stream] + 256 * half);
        first[half] = third[half];
      }
    }
    for (int half = 0; half < 2; ++half) {
      if constexpr (kP == 8) {
        std::uint16_t words[2][32];
        for (int i = 0; i < 32; ++i) {
          __builtin_memcpy(&words[0][i], word + 128 * half + 4 * i, 2);
          __builtin_memcpy(&words[1][i], word + 128 * half + 4 * i + 2, 2);
        }
        for (int part = 0; part < 2; ++part) {
          const Bytes q = load_quads(words[part]);
          store_records(nibble_of_words<0>(q), nibble_of_words<1>(q), nibble_of_words<2>(q),
                        nibble_of_words<3>(q), chunk.coefficients[part] + 256 * half);
        }
      } else {
        const Bytes q = load_quads(word + 64 * half);
        unsigned char* to = chunk.coefficients[0] + 256 * half;
        if constexpr (kP == 4) {
          store_records(nibble_of_words<0>(q), nibble_of_words<1>(q), nibble_of_words<2>(q),
                        nibble_of_words<3>(q), to);
        } else {
          store_records(nibble_of_words<1>(q), nibble_of_words<2>(q), nibble_of_words<3>(q), bit_xor(q, q),
                        to);
        }
      }
    }
    if constexpr (kNormal) {
      const Ints base = set1(bits_of(scale_of(exponent)));
#pragma GCC unroll 4
      for (std::uint64_t b = 0; b < kChunkBlocks; b += kLanes) {
        Ints powers;  // the code where the exponent is
        if constexpr (kP == 3) {
          powers = bit_and(shift_left<7>(floats_to_bits(load_bf16(word + 2 * b))), set1(15 << 23));
        } else {
          powers = shift_left<23>(load_nibble_pairs(code + b / 2));
        }
        store(chunk.scales + b, bits_to_floats(add(powers, base)));
      }
    } else {
      for (std::uint64_t b = 0; b < kChunkBlocks; ++b) {
        const unsigned nibbles = kP == 3 ? word[2 * b] : code[b / 2] >> (b % 2 * 4);
        const std::int32_t limit = exponent < -4096 ? -4096 : exponent > 4096 ? 4096 : exponent;
        chunk.scales[b] = scale_of(limit + static_cast<std::int32_t>(nibbles & 15u));
      }
    }
  }

  // 2^e / 32767 in two steps, of which only the second can leave the normal numbers.
  static float scale_of(std::int32_t e) {
    const auto clamp = [](std::int32_t x, std::int32_t most) {
      return x < -most ? -most : x > most ? most : x;
    };
    const auto power = [](std::int32_t x) {
      const std::int32_t bits = (x + 127) << 23;
      float value;
      __builtin_memcpy(&value, &bits, sizeof value);
      return value;
    };
    const std::int32_t near = clamp(e, 100);
    return 0x1.0002p-15f * power(near) * power(clamp(e - near, 126));
  }
  static std::int32_t bits_of(float x) {
    std::int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
  }

  // The sixteen weights of a pair of blocks, whose records are at `at`. Scales that are not normal could make
  // NaN of a sum of 0.
  template <bool kNormal>
  static Floats weights(const Chunk& chunk, std::uint64_t pair, std::uint64_t at) {
    const Bytes stream = kStreams == 1
                             ? spread(chunk.streams[0] + at)
                             : spread_turns(chunk.streams[0] + at, chunk.streams[kStreams - 1] + at);
    Bytes coefficients[kStreams];
    for (int i = 0; i < kStreams; ++i) coefficients[i] = spread(chunk.coefficients[i] + at);
    Ints sums = set1(std::int32_t{0});
    Bytes low = stream;
    Bytes high = stream;
    const auto add_register = [&]<unsigned kM>() {
      constexpr const SeedPlaces& places = kSeedPlaces<kP, kM>;
      constexpr bool kAsBefore =
          kM > 0 && same_bytes(places.low, kSeedPlaces < kP, kM == 0 ? 0 : kM - 1 >.low);
      if constexpr (!kAsBefore) {
        low = shuffle(stream, load_quads(places.low));
        high = shuffle(stream, load_quads(places.high));
      }
      const Bytes basis =
          windows(low, high, load_quads(places.right), load_quads(places.left), load_quads(places.factors));
      const Bytes q = shuffle(coefficients[kM / 2], load_quads(places.coefficients));
      sums = dot_words(basis, q, sums);
    };
    add_register.template operator()<0>();
    add_register.template operator()<1>();
    if constexpr (kRegisters == 4) {
      add_register.template operator()<2>();
      add_register.template operator()<3>();
    }
    const Floats values = to_floats(sums);
    const Floats scaled = mul(values, spread_two(chunk.scales + 2 * pair));
    if constexpr (kNormal) return scaled;
    return select_less(abs(values), set1(0.5f), set1(0.0f), scaled);
  }
};

}  // namespace
}  // namespace ml::kernels
