// Q8_0 and Q4_0 encoders: against values by hand, and bit for bit against the reference.

#include "blocks.hpp"
#include "catch.hpp"
#include "encodings/q4_0.hpp"
#include "encodings/q8_0.hpp"
#include "kernels/targets.hpp"
#include "reference.hpp"
#include "util/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace ml;

namespace {

struct Encoded {
  std::vector<std::byte> quants;
  std::vector<std::byte> scales;
  std::vector<float> d;
  std::optional<std::uint64_t> overflow;

  float scale(std::size_t block, ScaleType type) const {
    return type == ScaleType::f16 ? f16_to_f32(load_le<std::uint16_t>(scales.data() + 2 * block))
                                  : load_le<float>(scales.data() + 4 * block);
  }
  int q8(std::size_t i) const { return static_cast<std::int8_t>(quants[i]); }
  int q4(std::size_t i) const {
    const int packed = std::to_integer<int>(quants[i / 32 * 16 + i % 16]);
    return (i % 32 < 16 ? packed & 15 : packed >> 4) - 8;
  }
};

template <class Encode>
Encoded encode(std::size_t n, std::size_t block_bytes, ScaleType type, Encode run) {
  Encoded result;
  result.quants.resize(n / 32 * block_bytes);
  result.scales.resize(n / 32 * scale_bytes(type));
  result.d.resize(n / 32);
  result.overflow = run(result.quants.data(), result.scales.data(), result.d.data());
  return result;
}

// The functions under test, on every target in turn; they must agree.
template <class Encode>
Encoded on_every_target(std::size_t n, std::size_t block_bytes, ScaleType type, Encode run) {
  std::optional<Encoded> first;
  for (const Target target : available_targets()) {
    const kernels::QuantTable& table = kernels::quant_table_of(target);
    Encoded result = encode(n, block_bytes, type,
                            [&](auto* q, auto* stored, float* d) { return run(table, q, stored, d); });
    if (!first) {
      first = std::move(result);
      continue;
    }
    CAPTURE(target_name(target));
    CHECK(result.quants == first->quants);
    CHECK(result.scales == first->scales);
    CHECK(result.overflow == first->overflow);
  }
  return *std::move(first);
}

Encoded q8_0(const std::vector<float>& x, ScaleType type) {
  return on_every_target(x.size(), 32, type, [&](const auto& table, auto* q, auto* stored, float* d) {
    return encode_q8_0(table, x, type, q, stored, d);
  });
}
Encoded q4_0_round(const std::vector<float>& x, ScaleType type) {
  return on_every_target(x.size(), 16, type, [&](const auto& table, auto* q, auto* stored, float* d) {
    return encode_q4_0_round(table, x, type, q, stored, d);
  });
}
Encoded q4_0_search(const std::vector<float>& x, ScaleType type, const Q4Importance* importance = nullptr) {
  return on_every_target(x.size(), 16, type, [&](const auto& table, auto* q, auto* stored, float* d) {
    return encode_q4_0_search(table, x, importance, type, q, stored, d);
  });
}
Encoded q4_0_best(const std::vector<float>& x, ScaleType type, const Q4Importance* importance = nullptr) {
  return on_every_target(x.size(), 16, type, [&](const auto& table, auto* q, auto* stored, float* d) {
    return encode_q4_0_best(table, x, importance, type, q, stored, d);
  });
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, 4) == 0; }

// Channels of importance that differ by orders of magnitude, some at the floor.
std::vector<float> importance_of(std::size_t n) {
  std::vector<float> channels(n);
  for (std::size_t i = 0; i < n; ++i) channels[i] = i % 5 == 0 ? 0.001f : 0.01f * static_cast<float>(i % 97);
  for (float& channel : channels) channel = std::fmax(channel, 0.001f);
  return channels;
}

// Of block b. Not by std::fmax(): g++ 12 for ARM fails on a reduction by it.
double largest_of(const std::vector<float>& x, std::size_t b) {
  double amax = 0;
  for (std::size_t j = 0; j < 32; ++j) amax = std::max<double>(amax, std::fabs(x[32 * b + j]));
  return amax;
}

}  // namespace

TEST_CASE("Q8_0 by hand", "[quantize]") {
  std::vector<float> x(32, 0.0f);
  x[0] = 127;
  x[1] = 0.5f;  // 0.5 + 0.5 cuts to 1
  x[2] = -0.5f;
  x[3] = 0.49f;
  x[4] = -126.6f;
  const Encoded plain = q8_0(x, ScaleType::f32);
  CHECK(plain.scale(0, ScaleType::f32) == 1.0f);
  CHECK(plain.q8(0) == 127);
  CHECK(plain.q8(1) == 1);
  CHECK(plain.q8(2) == -1);
  CHECK(plain.q8(3) == 0);
  CHECK(plain.q8(4) == -127);
  // d = 1000 / 127 = 7.874; the nearest half is 7.875, and the quants are made for that one.
  x.assign(32, 0.0f);
  x[0] = 1000;
  x[1] = 7.875f * 2.5f;
  const Encoded half = q8_0(x, ScaleType::f16);
  CHECK(half.scale(0, ScaleType::f16) == 7.875f);
  CHECK(half.q8(0) == 127);
  CHECK(half.q8(1) == 3);
}

TEST_CASE("Q8_0: small and large blocks", "[quantize]") {
  std::vector<float> x(32, 0.99e-30f);
  CHECK(q8_0(x, ScaleType::f32).scale(0, ScaleType::f32) == 0);
  CHECK(q8_0(x, ScaleType::f32).q8(3) == 0);
  x.assign(32, 1.01e-30f);
  CHECK(q8_0(x, ScaleType::f32).q8(3) == 127);
  x.assign(32, 3e-6f);  // d = 2.4e-8 rounds to zero as f16
  CHECK(q8_0(x, ScaleType::f16).scale(0, ScaleType::f16) == 0);
  CHECK(q8_0(x, ScaleType::f16).q8(0) == 0);
  x.assign(32, 4e-6f);  // d = 3.1e-8 rounds up to the smallest half, 6e-8
  CHECK(q8_0(x, ScaleType::f16).q8(0) == 67);
  x.assign(64, 1.0f);
  x[40] = 65504.0f * 127;
  CHECK_FALSE(q8_0(x, ScaleType::f16).overflow);
  x[40] = 65520.0f * 127;
  CHECK(q8_0(x, ScaleType::f16).overflow == 1u);
  CHECK_FALSE(q8_0(x, ScaleType::f32).overflow);
  x[40] = -std::numeric_limits<float>::max();  // 127 d rounds over
  CHECK(q8_0(x, ScaleType::f32).overflow == 1u);
  CHECK_FALSE(q4_0_round(x, ScaleType::f32).overflow);  // -8 d does not
  x[40] *= 0.999f;
  CHECK_FALSE(q8_0(x, ScaleType::f32).overflow);
}

TEST_CASE("Q8_0 equals the reference, bit for bit", "[quantize]") {
  const std::vector<float> x = edge_row();
  for (const ScaleType type : {ScaleType::f32, ScaleType::f16}) {
    const Encoded fast = q8_0(x, type);
    for (std::size_t b = 0; b < x.size() / 32; ++b) {
      CAPTURE(edge_blocks()[b].first, scale_type_name(type));
      const reference::Q8Block expected = reference::q8_0(x.data() + 32 * b, type == ScaleType::f16);
      if (std::isinf(expected.d)) continue;  // refused
      CHECK(same_bits(fast.scale(b, type), expected.d));
      for (std::size_t j = 0; j < 32; ++j) CHECK(fast.q8(32 * b + j) == expected.q[j]);
    }
  }
}

TEST_CASE("Q4_0 round rule by hand", "[quantize]") {
  std::vector<float> x(32, 0.0f);
  x[5] = -4.0f;   // d = 0.5
  x[0] = 3.5f;    // 7 + 8.5 = 15.5: level 7
  x[1] = 3.8f;    // 7.6 + 8.5 = 16.1: at most 15
  x[2] = 0.25f;   // 0.5 + 8.5 = 9: level 1
  x[3] = -0.25f;  // -0.5 + 8.5 = 8: level 0
  x[21] = 1.0f;
  const Encoded block = q4_0_round(x, ScaleType::f32);
  CHECK(block.scale(0, ScaleType::f32) == 0.5f);
  CHECK(block.q4(5) == -8);
  CHECK(block.q4(0) == 7);
  CHECK(block.q4(1) == 7);
  CHECK(block.q4(2) == 1);
  CHECK(block.q4(3) == 0);
  CHECK(block.q4(21) == 2);
  CHECK(std::to_integer<int>(block.quants[5]) == (10 << 4 | 0));  // elements 5 and 21 share a byte
}

TEST_CASE("Q4_0 round rule: levels come from the unrounded scale", "[quantize]") {
  std::vector<float> x(32, 0.0f);
  x[0] = -8.0f * 1.0004f;  // d = 1.0004, as f16 1.0
  x[1] = 2.5009f;          // 2.4999 + 8.5 -> 2 with the unrounded d, 3 with 1.0
  const Encoded block = q4_0_round(x, ScaleType::f16);
  CHECK(block.scale(0, ScaleType::f16) == 1.0f);
  CHECK(block.q4(1) == 2);
}

TEST_CASE("Q4_0 search by hand", "[quantize]") {
  // Exact at L = -8: error 0 there, so d is found to the bit.
  std::vector<float> x(32);
  for (int j = 0; j < 32; ++j) x[j] = static_cast<float>(j % 16 - 8) * 0.125f;
  const Encoded exact = q4_0_search(x, ScaleType::f32);
  CHECK(exact.scale(0, ScaleType::f32) == 0.125f);
  for (std::size_t j = 0; j < 32; ++j) CHECK(exact.q4(j) == static_cast<int>(j % 16) - 8);
  // One weight: every candidate is exact, the first one (-6) wins; d is negative.
  x.assign(32, 0.0f);
  x[7] = 3.0f;
  const Encoded single = q4_0_search(x, ScaleType::f32);
  CHECK(single.scale(0, ScaleType::f32) == -0.5f);
  CHECK(single.q4(7) == -6);
  // Nothing at all.
  x.assign(32, -0.0f);
  const Encoded zero = q4_0_search(x, ScaleType::f32);
  CHECK(same_bits(zero.scale(0, ScaleType::f32), 0.0f));
  for (const std::byte b : zero.quants) CHECK(b == std::byte{0x88});
}

TEST_CASE("Q4_0 equals the reference, bit for bit", "[quantize]") {
  const std::vector<float> x = edge_row();
  const std::vector<float> channels = importance_of(x.size());
  for (const ScaleType type : {ScaleType::f32, ScaleType::f16}) {
    for (const float mean_square : {-1.0f, 0.0f, 1e-14f, 0.5f, std::numeric_limits<float>::infinity()}) {
      const Q4Importance importance{channels, {&mean_square, 1}};
      const bool weighted = mean_square >= 0;
      const Encoded search = q4_0_search(x, type, weighted ? &importance : nullptr);
      const Encoded round = q4_0_round(x, type);
      for (std::size_t b = 0; b < x.size() / 32; ++b) {
        CAPTURE(edge_blocks()[b].first, scale_type_name(type), mean_square);
        const float* block = x.data() + 32 * b;
        const auto check = [&](const Encoded& fast, reference::Q4Block expected) {
          if (type == ScaleType::f16) expected.d = f16_to_f32(f32_to_f16(expected.d));
          CHECK(same_bits(fast.scale(b, type), expected.d));
          bool equal = true;
          for (std::size_t j = 0; j < 32; ++j) equal = equal && fast.q4(32 * b + j) == expected.level[j];
          CHECK(equal);
          if (type == ScaleType::f32) CHECK(std::isfinite(fast.scale(b, type)));
        };
        check(search,
              reference::q4_0_search(block, weighted ? channels.data() + 32 * b : nullptr, mean_square));
        if (!weighted) check(round, reference::q4_0_round(block));
      }
    }
  }
}

TEST_CASE("Q4_0: any number of blocks gives the same blocks", "[quantize]") {
  const std::vector<float> x = edge_row();
  const Encoded whole = q4_0_search(x, ScaleType::f32);
  for (std::size_t b = 0; b < x.size() / 32; ++b) {
    const std::vector<float> block(x.begin() + 32 * b, x.begin() + 32 * (b + 1));
    const Encoded alone = q4_0_search(block, ScaleType::f32);
    CHECK(same_bits(alone.scale(0, ScaleType::f32), whole.scale(b, ScaleType::f32)));
    CHECK(std::memcmp(alone.quants.data(), whole.quants.data() + 16 * b, 16) == 0);
  }
}

TEST_CASE("Q4_0: a scale past f16 names its block", "[quantize]") {
  std::vector<float> x(32 * 20, 1.0f);
  x[32 * 13 + 4] = 8 * 65520.0f;
  CHECK(q4_0_round(x, ScaleType::f16).overflow == 13u);
  CHECK(q4_0_search(x, ScaleType::f16).overflow == 13u);
  CHECK_FALSE(q4_0_search(x, ScaleType::f32).overflow);
  // A ramp's scale is a little more than an eighth of its largest weight: -8 d overflows.
  for (std::size_t i = 0; i < 32; ++i) x[32 * 13 + i] = 3.4e38f * ((static_cast<float>(i) - 16) / 16);
  CHECK(q4_0_search(x, ScaleType::f32).overflow == 13u);
  for (std::size_t i = 0; i < 32; ++i) x[32 * 13 + i] *= 0.9f;
  CHECK_FALSE(q4_0_search(x, ScaleType::f32).overflow);
}

TEST_CASE("search is no worse than round, by its own measure", "[quantize]") {
  const std::vector<float> x = edge_row();
  const Encoded search = q4_0_search(x, ScaleType::f32);
  const Encoded round = q4_0_round(x, ScaleType::f32);
  for (std::size_t b = 0; b < x.size() / 32; ++b) {
    CAPTURE(edge_blocks()[b].first);
    const double amax = largest_of(x, b);
    if (amax < 1e-37) continue;  // the round rule gives up there
    double errors[2] = {};
    for (const bool rounded : {false, true}) {
      const Encoded& encoded = rounded ? round : search;
      for (std::size_t j = 0; j < 32; ++j) {
        const double value = x[32 * b + j] / amax;
        const double d = encoded.scale(b, ScaleType::f32);
        const double r = value - d * encoded.q4(32 * b + j) / amax;
        errors[rounded] += value * value * r * r;
      }
    }
    CHECK(errors[0] <= errors[1] * (1 + 1e-3) + 1e-9);
  }
}

TEST_CASE("best is never worse than search, by the measure of both", "[quantize]") {
  const std::vector<float> x = edge_row();
  const std::vector<float> channels = importance_of(x.size());
  const float mean_square = 1e-3f;
  const Q4Importance importance{channels, {&mean_square, 1}};
  for (const ScaleType type : {ScaleType::f32, ScaleType::f16}) {
    for (const bool weighted : {false, true}) {
      const Encoded search = q4_0_search(x, type, weighted ? &importance : nullptr);
      const Encoded best = q4_0_best(x, type, weighted ? &importance : nullptr);
      CHECK(best.overflow == search.overflow);
      double gain = 0;
      double n = 0;
      for (std::size_t b = 0; b < x.size() / 32; ++b) {
        CAPTURE(edge_blocks()[b].first, scale_type_name(type), weighted);
        if (std::isinf(search.scale(b, type))) continue;
        double amax = largest_of(x, b);
        if (amax == 0) amax = 1;
        const auto error_of = [&](const Encoded& encoded) {
          double error = 0;
          for (std::size_t j = 0; j < 32; ++j) {
            const double value = x[32 * b + j] / amax;
            const double r = value - encoded.scale(b, type) / amax * encoded.q4(32 * b + j);
            const double spread = std::sqrt(double(mean_square) / amax / amax + value * value);
            // Below it the importance overflows float32, and the block is fitted without.
            error += (weighted && amax > 1e-20 ? channels[32 * b + j] * spread : value * value) * r * r;
          }
          return error;
        };
        const double before = error_of(search);
        const double after = error_of(best);
        CHECK(after <= before);
        if (before > 0) gain += 1 - after / before;
        if (before > 0) n += 1;
      }
      // The search is hard to beat where large weights count most.
      CHECK(gain / n > (weighted ? 0.01 : 1e-4));
    }
  }
}

TEST_CASE("f16 and bf16 widen alike on every target", "[quantize]") {
  std::vector<std::uint16_t> words(65536 + 7);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
  const LittleEndian stored{std::span(words)};
  const auto* data = reinterpret_cast<const unsigned char*>(stored.bytes().data());
  for (const Target target : available_targets()) {
    const kernels::QuantTable& table = kernels::quant_table_of(target);
    std::vector<float> f16(words.size());
    std::vector<float> bf16(words.size());
    table.widen_f16(data, words.size(), f16.data());
    table.widen_bf16(data, words.size(), bf16.data());
    std::vector<std::uint16_t> back(words.size());
    table.to_f16(f16.data(), words.size(), back.data());
    order_le(back.data(), sizeof back[0], back.size());
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const float wide = std::bit_cast<float>(static_cast<std::uint32_t>(words[i]) << 16);
      different += !same_bits(bf16[i], wide);
      if (std::isnan(f16_to_f32(words[i]))) continue;
      different += !same_bits(f16[i], f16_to_f32(words[i])) || back[i] != words[i];
    }
    CAPTURE(target_name(target));
    CHECK(different == 0);
  }
}

TEST_CASE("every half decodes as the scalar conversion says", "[quantize]") {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const LittleEndian bytes{std::span(halves)};
  const TensorView view{.encoding = Encoding::f16, .rows = 1, .cols = 65536, .data = bytes.bytes()};
  std::vector<float> values(65536);
  decode_row(view, 0, values);
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < halves.size(); ++i) different += !same_bits(values[i], f16_to_f32(halves[i]));
  CHECK(different == 0);
}
