// Integers in groups: every order against the format's text, the rules over every group length.

#include "encodings/int_group.hpp"
#include "catch.hpp"
#include "encodings/q8_0.hpp"
#include "encodings/scales.hpp"
#include "kernels/targets.hpp"

#include <cmath>
#include <random>

using namespace ml;

namespace {

std::vector<Encoding> int_encodings() {
  std::vector<Encoding> result;
  for (const EncodingInfo& info : encodings()) {
    if (int_group(info.encoding)) result.push_back(info.encoding);
  }
  return result;
}

std::vector<float> random_weights(std::size_t n) {
  std::mt19937 random(static_cast<std::uint32_t>(n));
  std::vector<float> x(n);
  for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-34f;
  return x;
}

struct Encoded {
  std::vector<std::byte> data;
  std::vector<std::byte> scales;
  TensorView view;
};

Encoded encode(Encoding encoding, ScaleType scale_type, const std::vector<float>& x, std::uint64_t cols,
               bool round) {
  Encoded result;
  result.view = {.encoding = encoding, .scale_type = scale_type, .rows = x.size() / cols, .cols = cols};
  result.data.resize(result.view.rows * result.view.row_bytes());
  result.scales.resize(result.view.rows * result.view.row_scale_bytes());
  REQUIRE_FALSE(encode_int_group(kernels::quant_table_of(Target::best), encoding, scale_type, x, cols, round,
                                 result.data.data(), result.scales.data()));
  result.view.data = result.data;
  result.view.scales = result.scales;
  return result;
}

// The quant of one weight, found as mog(5) describes the orders, without the code's loops.
int quant_at(const Encoded& e, std::uint64_t row, std::uint64_t col) {
  const IntGroup layout = *int_group(e.view.encoding);
  const std::uint64_t cols = e.view.cols;
  const auto byte = [&](std::uint64_t i) { return std::to_integer<int>(e.data[i]); };
  const auto nibble = [&](std::uint64_t i, bool high) { return (high ? byte(i) >> 4 : byte(i) & 15) - 8; };
  switch (layout.order) {
    case QuantOrder::rows: return static_cast<std::int8_t>(byte(row * cols + col));
    case QuantOrder::pairs: return nibble((row * cols + col) / 2, col % 2 != 0);
    case QuantOrder::halves: {
      const std::uint64_t in_group = col % layout.group;
      const std::uint64_t base = (row * cols + col - in_group) / 2;
      return nibble(base + in_group % (layout.group / 2), in_group >= layout.group / 2);
    }
    case QuantOrder::blocks: break;
  }
  if (layout.bits == 8)
    return static_cast<std::int8_t>(byte(row / 16 * 16 * cols + col / 4 * 64 + row % 16 * 4 + col % 4));
  return nibble(row / 16 * 8 * cols + col / 8 * 64 + row % 16 * 4 + col % 4, col % 8 >= 4);
}

float scale_at(const Encoded& e, std::uint64_t row, std::uint64_t col) {
  const IntGroup layout = *int_group(e.view.encoding);
  const std::uint64_t n_groups = e.view.cols / layout.group;
  const std::uint64_t group = col / layout.group;
  const std::uint64_t index = layout.order == QuantOrder::blocks
                                  ? (row / 16 * n_groups + group) * 16 + row % 16
                                  : row * n_groups + group;
  return load_scale(e.view, index);
}

}  // namespace

TEST_CASE("integers in groups lie where mog(5) puts them, and decode to quant x scale", "[int_group]") {
  REQUIRE(int_encodings().size() == 15);
  constexpr std::uint64_t kRows = 32, kCols = 384;
  const auto x = random_weights(kRows * kCols);
  for (const Encoding encoding : int_encodings()) {
    for (const ScaleType scale_type : {ScaleType::f32, ScaleType::f16}) {
      INFO(encoding_info(encoding).name << " " << scale_type_name(scale_type));
      const IntGroup layout = *int_group(encoding);
      const Encoded e = encode(encoding, scale_type, x, kCols, false);
      std::vector<float> row(kCols);
      std::vector<std::int8_t> quants(kCols);
      bool equal = true;
      bool near = true;
      for (std::uint64_t r = 0; r < kRows; ++r) {
        decode_row(e.view, r, row);
        load_quants(e.view, r, 1, quants.data());
        for (std::uint64_t c = 0; c < kCols; ++c) {
          const float d = scale_at(e, r, c);
          equal = equal && quant_at(e, r, c) == quants[c] && row[c] == static_cast<float>(quants[c]) * d;
          // A level is hit within half a step, but for the one end that four bits lack.
          near = near &&
                 std::fabs(row[c] - x[r * kCols + c]) <= std::fabs(d) * (layout.bits == 8 ? 0.51f : 1.6f);
        }
      }
      CHECK(equal);
      CHECK(near);
    }
  }
}

TEST_CASE("the order of quants changes nothing else: same quants and scales for one group length",
          "[int_group]") {
  constexpr std::uint64_t kRows = 16, kCols = 256;
  const auto x = random_weights(kRows * kCols);
  for (const bool round : {false, true}) {
    for (const Encoding encoding : int_encodings()) {
      for (const Encoding other : int_encodings()) {
        const IntGroup a = *int_group(encoding), b = *int_group(other);
        if (a.bits != b.bits || a.group != b.group) continue;
        const Encoded one = encode(encoding, ScaleType::f32, x, kCols, round);
        const Encoded two = encode(other, ScaleType::f32, x, kCols, round);
        bool equal = true;
        for (std::uint64_t r = 0; r < kRows; ++r) {
          for (std::uint64_t c = 0; c < kCols; ++c)
            equal = equal && quant_at(one, r, c) == quant_at(two, r, c) &&
                    scale_at(one, r, c) == scale_at(two, r, c);
        }
        INFO(encoding_info(encoding).name << " " << encoding_info(other).name);
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("quants stored again in the order of Q4_0 or Q8_0 are those it would have", "[int_group]") {
  constexpr std::uint64_t kRows = 32, kCols = 256;
  const auto x = random_weights(kRows * kCols);
  for (const Encoding wanted : {Encoding::q8_0, Encoding::q4_0}) {
    const Encoded direct = encode(wanted, ScaleType::f32, x, kCols, false);
    for (const Encoding encoding : int_encodings()) {
      INFO(encoding_info(encoding).name);
      const IntGroup layout = *int_group(encoding);
      REQUIRE(same_quants(encoding, wanted) ==
              (layout.bits == int_group(wanted)->bits && layout.group == 32));
      if (!same_quants(encoding, wanted)) continue;
      const Encoded e = encode(encoding, ScaleType::f32, x, kCols, false);
      std::vector<std::int8_t> quants(kCols);
      std::vector<std::byte> stored(direct.data.size());
      for (std::uint64_t r = 0; r < kRows; ++r) {
        load_quants(e.view, r, 1, quants.data());
        store_quants(wanted, quants, stored.data() + r * direct.view.row_bytes());
      }
      CHECK(stored == direct.data);
    }
  }
  CHECK_FALSE(same_quants(Encoding::f32, Encoding::f32));
  CHECK_FALSE(same_quants(Encoding::q4g32, Encoding::q4_0));
}

TEST_CASE("8 bits: the Q8_0 rule over any group length", "[int_group]") {
  for (const Encoding encoding : {Encoding::q8_0, Encoding::int8_g64, Encoding::int8_g128}) {
    const std::uint64_t group = int_group(encoding)->group;
    auto x = random_weights(2 * group);
    x[group / 2] = 3;
    for (const ScaleType scale_type : {ScaleType::f32, ScaleType::f16}) {
      const Encoded e = encode(encoding, scale_type, x, x.size(), false);
      for (std::uint64_t g = 0; g < 2; ++g) {
        float amax = 0;
        for (std::uint64_t j = 0; j < group; ++j) amax = std::max(amax, std::fabs(x[g * group + j]));
        float d = amax / 127.0f;
        float inverse = 127.0f / amax;
        if (scale_type == ScaleType::f16) {
          d = f16_to_f32(f32_to_f16(d));
          inverse = 1.0f / d;
        }
        CHECK(scale_at(e, 0, g * group) == d);
        bool equal = true;
        for (std::uint64_t j = 0; j < group; ++j) {
          const float value = x[g * group + j];
          const int q = std::clamp(static_cast<int>(value * inverse + std::copysign(0.5f, value)), -127, 127);
          equal = equal && quant_at(e, 0, g * group + j) == q;
        }
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("4 bits, search: the Q4_0 rule over any group length, bit for bit", "[int_group]") {
  for (const Encoding encoding : {Encoding::q4_0, Encoding::int4h_g64, Encoding::int4h_g128}) {
    const std::uint64_t group = int_group(encoding)->group;
    const auto x = random_weights(11 * group);
    const Encoded e = encode(encoding, ScaleType::f32, x, x.size(), false);
    for (std::uint64_t g = 0; g < 11; ++g) {
      const float* block = x.data() + g * group;
      float m = block[0];
      for (std::uint64_t j = 1; j < group; ++j) m = std::fabs(block[j]) > std::fabs(m) ? block[j] : m;
      float best_d = 0, best_error = 0;
      for (int k = 0; k < 13; ++k) {
        const float factor = static_cast<float>(-6.0 - 0.2 * k) / m;
        float numerator = 0, denominator = 0, error = 0;
        std::vector<float> levels;
        for (std::uint64_t j = 0; j < group; ++j) {
          const float w = block[j] * block[j];
          levels.push_back(std::fmin(std::fmax(std::round(block[j] * factor), -8.0f), 7.0f));
          const float wl = w * levels.back();
          numerator = numerator + wl * block[j];
          denominator = denominator + wl * levels.back();
        }
        const float d = denominator == 0 ? 0.0f : numerator / denominator;
        for (std::uint64_t j = 0; j < group; ++j) {
          const float r = block[j] - d * levels[j];
          error = error + block[j] * block[j] * (r * r);
        }
        if (k == 0 || error < best_error) {
          best_d = d;
          best_error = error;
        }
      }
      CHECK(scale_at(e, 0, g * group) == best_d);
    }
  }
}

TEST_CASE("a scale beyond f16 is reported with its row and group", "[int_group]") {
  std::vector<float> x(32 * 64, 1.0f);
  x[20 * 64 + 3] = 1e9f;
  std::vector<std::byte> data(x.size());
  std::vector<std::byte> scales(4 * 32);
  const auto place = encode_int_group(kernels::quant_table_of(Target::best), Encoding::int8r16_g64,
                                      ScaleType::f16, x, 64, false, data.data(), scales.data());
  REQUIRE(place);
  CHECK(place->row == 20);
  CHECK(place->group == 0);
}
