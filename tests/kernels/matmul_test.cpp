#include "catch.hpp"
#include "encodings/int_group.hpp"
#include "kernels/support.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <cmath>
#include <limits>

using namespace ml;

namespace {

struct Acts {
  std::uint64_t stride, blocks;
  std::vector<float> floats;
  std::vector<std::int8_t> quants;
  std::vector<float> scales;
  std::vector<std::int32_t> offsets;

  Acts(Random& random, std::uint64_t n_tokens, std::uint64_t cols, float magnitude)
      : stride(kernels::padded_floats(cols)),
        blocks(kernels::padded_blocks(cols)),
        floats(n_tokens * stride),
        quants(n_tokens * blocks * 32),
        scales(n_tokens * blocks),
        offsets(n_tokens * blocks) {
    for (std::uint64_t t = 0; t < n_tokens; ++t) {
      for (std::uint64_t c = 0; c < cols; ++c) floats[t * stride + c] = random.uniform() * magnitude;
    }
    quantize(n_tokens, cols);
  }
  void quantize(std::uint64_t n_tokens, std::uint64_t cols) {
    for (std::uint64_t t = 0; t < n_tokens; ++t) {
      // No element of an empty vector: fewer columns than a block have no block.
      kernels::scalar_table.quantize_q8(floats.data() + t * stride, cols / 32 * 32,
                                        quants.data() + t * blocks * 32, scales.data() + t * blocks,
                                        offsets.data() + t * blocks);
    }
  }
  kernels::QuantizedActs token(std::uint64_t t) const {
    return {quants.data() + t * blocks * 32, scales.data() + t * blocks, offsets.data() + t * blocks, blocks,
            nullptr};
  }
};

std::vector<float> run_q8(const kernels::Table& table, const TestMatrix& w, const Acts& x,
                          std::uint64_t n_tokens) {
  std::vector<unsigned char> tiles(kernels::tiles_bytes(n_tokens, w.view.cols));
  for (std::uint64_t t = 0; t < n_tokens; ++t) table.pack_token(x.token(t), w.view.cols, t, tiles.data());
  kernels::QuantizedActs all = x.token(0);
  all.tiles = tiles.data();
  std::vector<float> out(n_tokens * w.view.rows);
  table.matmul_q8[static_cast<int>(w.view.encoding)](w.matrix(), all, n_tokens, 0, w.view.rows, out.data(),
                                                     w.view.rows, panel_scratch(w.view.cols));
  return out;
}

std::vector<float> run_f32(const kernels::Table& table, const TestMatrix& w, const Acts& x,
                           std::uint64_t n_tokens) {
  std::vector<float> out(n_tokens * w.view.rows);
  table.matmul_f32[static_cast<int>(w.view.encoding)](w.matrix(), x.floats.data(), x.stride, n_tokens, 0,
                                                      w.view.rows, out.data(), w.view.rows,
                                                      panel_scratch(w.view.cols));
  return out;
}

}  // namespace

TEST_CASE("every target's matrix products equal scalar's bits", "[kernels]") {
  Random random(1);
  for (const StoredAs& c : all_encodings()) {
    const EncodingInfo& info = encoding_info(c.encoding);
    const std::uint64_t n_rows = 35 / info.block_rows * info.block_rows;
    std::vector<std::uint64_t> widths{32, 64, 96, 480, 512, 544, 1024, 1056, 128, 384, 1152};
    if (!info.takes_q8()) widths.insert(widths.end(), {1, 7, 15, 16, 17, 172, 1003, 8, 24, 528, 1032});
    for (const std::uint64_t cols : widths) {
      if (cols % info.block_weights != 0) continue;
      for (const bool extreme : {false, true}) {
        const TestMatrix w(random, c.encoding, c.scales, n_rows, cols, extreme);
        const Acts x(random, 13, cols, extreme ? 1e5f : 1.0f);
        for (const std::uint64_t n_tokens : {1u, 2u, 3u, 4u, 5u, 6u, 13u}) {
          for (const Target target : fast_targets()) {
            INFO(encoding_info(c.encoding).name << " " << scale_type_name(c.scales) << " cols " << cols
                                                << " tokens " << n_tokens << " " << target_name(target));
            const kernels::Table& table = kernels::table_of(target);
            CHECK(same_bits(run_f32(table, w, x, n_tokens), run_f32(kernels::scalar_table, w, x, n_tokens)));
            if (info.takes_q8())
              CHECK(same_bits(run_q8(table, w, x, n_tokens), run_q8(kernels::scalar_table, w, x, n_tokens)));
          }
        }
      }
    }
  }
}

TEST_CASE("a batch of tokens gives the bits of single tokens, a range of rows those of all", "[kernels]") {
  Random random(2);
  const TestMatrix w(random, Encoding::q8_0, ScaleType::f32, 37, 608);
  const Acts x(random, 9, 608, 1.0f);
  for (const Target target : available_targets()) {
    const kernels::Table& table = kernels::table_of(target);
    const std::vector<float> all = run_q8(table, w, x, 9);
    std::vector<float> single(all.size());
    for (std::uint64_t t = 0; t < 9; ++t) {
      for (const auto& [begin, end] : {std::pair{0, 5}, std::pair{5, 6}, std::pair{6, 37}}) {
        table.matmul_q8[kernels::kQ8_0](w.matrix(), x.token(t), 1, begin, end, single.data() + t * 37, 37,
                                        panel_scratch(608));
      }
    }
    CHECK(same_bits(all, single));
  }
}

TEST_CASE("scalar products are the ones of the numeric contract", "[kernels]") {
  Random random(3);
  const std::uint64_t cols = 32 * 21;
  const TestMatrix w(random, Encoding::q4_0, ScaleType::f16, 3, cols);
  const Acts x(random, 1, cols, 1.0f);
  const std::vector<float> out = run_q8(kernels::scalar_table, w, x, 1);
  std::vector<float> row(cols);
  for (std::uint64_t r = 0; r < 3; ++r) {
    decode_row(w.view, r, row);
    double dequantized = 0;
    for (std::uint64_t c = 0; c < cols; ++c) {
      dequantized += double(row[c]) * double(x.quants[c]) * double(x.scales[c / 32]);
    }
    CHECK(std::fabs(out[r] - dequantized) < 1e-5);
  }
  // Rule 2, spelled out: block b in lane b mod 16, folded 8 + 8, 4 + 4, 2 + 2, 1 + 1.
  float lanes[16] = {};
  for (std::uint64_t b = 0; b < cols / 32; ++b) {
    std::int32_t dot = 0;
    for (std::uint64_t j = 0; j < 16; ++j) {
      const int packed = std::to_integer<int>(w.view.data[b * 16 + j]);
      dot += ((packed & 15) - 8) * x.quants[b * 32 + j] + ((packed >> 4) - 8) * x.quants[b * 32 + j + 16];
    }
    const auto half = load_le<std::uint16_t>(w.view.scales.data() + 2 * b);
    float scale = std::ldexp(static_cast<float>((half & 0x3ff) | 0x400), ((half >> 10) & 31) - 25);
    if (half & 0x8000) scale = -scale;
    lanes[b % 16] = std::fma(static_cast<float>(dot), scale * x.scales[b], lanes[b % 16]);
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  CHECK(out[0] == lanes[0]);
}

namespace {

float folded(float* lanes) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

float bf16_at(std::span<const std::byte> words, std::uint64_t i) {
  return bf16_to_f32(load_le<std::uint16_t>(words.data() + 2 * i));
}

// One row times one token by rule 2, from the formats' descriptions.
float product_by_rule_2(const TensorView& view, const Acts& x, std::uint64_t row) {
  const EncodingInfo& info = encoding_info(view.encoding);
  const std::uint64_t n_groups = view.cols / info.block_weights;
  std::vector<std::int8_t> quants(view.cols);
  if (info.quantized) load_quants(view, row, 1, quants.data());
  const auto weight = [&](std::uint64_t c) {
    if (info.quantized) return static_cast<int>(quants[c]);
    const std::uint64_t code = row * view.cols + c;
    if (view.encoding == Encoding::q8g64) return std::to_integer<int>(view.data[code]);
    return (std::to_integer<int>(view.data[code / 2]) >> (code % 2 * 4)) & 15;
  };
  float lanes[16] = {};
  for (std::uint64_t b = 0; b < view.cols / 32; ++b) {
    std::int32_t dot = 0, sum = 0;
    for (std::uint64_t j = 0; j < 32; ++j) {
      dot += weight(b * 32 + j) * x.quants[b * 32 + j];
      sum += x.quants[b * 32 + j];
    }
    const std::uint64_t group = b * 32 / info.block_weights;
    float scale, bias = 0;
    if (info.quantized) {
      const std::uint64_t index = scale_index(view, row, group);
      if (view.scale_type == ScaleType::f32) {
        scale = load_le<float>(view.scales.data() + 4 * index);
      } else {
        scale = f16_to_f32(load_le<std::uint16_t>(view.scales.data() + 2 * index));
      }
    } else {
      scale = bf16_at(view.scales, row * n_groups + group);
      bias = bf16_at(view.biases, row * n_groups + group);
    }
    float& lane = lanes[b % 16];
    lane = std::fma(static_cast<float>(dot), scale * x.scales[b], lane);
    if (!info.quantized) lane = std::fma(bias, x.scales[b] * static_cast<float>(sum), lane);
  }
  const float product = folded(lanes);
  return std::isnan(product) ? std::numeric_limits<float>::quiet_NaN() : product;
}

}  // namespace

TEST_CASE("products of every encoding are those of its values", "[kernels]") {
  Random random(4);
  constexpr std::uint64_t kRows = 16, kCols = 1152;
  for (const StoredAs& c : all_encodings()) {
    const EncodingInfo& info = encoding_info(c.encoding);
    for (const bool extreme : {false, true}) {
      const TestMatrix w(random, c.encoding, c.scales, kRows, kCols, extreme);
      const Acts x(random, 7, kCols, 1.0f);
      for (const Target target : available_targets()) {
        const kernels::Table& table = kernels::table_of(target);
        INFO(info.name << " " << scale_type_name(c.scales) << " " << target_name(target) << " " << extreme);
        std::vector<float> expected(kRows), row(kCols);
        for (std::uint64_t r = 0; r < kRows; ++r) {
          c.encoding == Encoding::q8g64 ? decode_row(w.view, r, row) : decode_row_unrounded(w.view, r, row);
          float lanes[16] = {};
          for (std::uint64_t i = 0; i < kCols; ++i)
            lanes[i % 16] = std::fma(row[i], x.floats[i], lanes[i % 16]);
          expected[r] = folded(lanes);
        }
        std::vector<float> got = run_f32(table, w, x, 7);
        got.resize(kRows);
        CHECK(same_bits(got, expected));
        got = run_f32(table, w, x, 1);
        CHECK(same_bits(got, expected));
        if (!info.takes_q8()) continue;
        for (std::uint64_t r = 0; r < kRows; ++r) expected[r] = product_by_rule_2(w.view, x, r);
        CHECK(same_bits(run_q8(table, w, x, 1), expected));
        got = run_q8(table, w, x, 7);
        got.resize(kRows);
        CHECK(same_bits(got, expected));
      }
    }
  }
}

TEST_CASE("large activations of one sign add up without an overflow", "[kernels]") {
  Random random(6);
  constexpr std::uint64_t kRows = 16, kCols = 1152, kTokens = 9;
  for (const float sign : {1.0f, -1.0f}) {
    Acts x(random, kTokens, kCols, 1.0f);
    for (float& value : x.floats) value = value == 0 ? 0 : sign * (1e4f + 9e4f * std::fabs(value));
    x.quantize(kTokens, kCols);
    for (const StoredAs& c : all_encodings()) {
      const TestMatrix w(random, c.encoding, c.scales, kRows, kCols);
      std::vector<double> exact(kTokens * kRows), exact_q8(kTokens * kRows), size(kTokens * kRows);
      std::vector<float> row(kCols), unrounded(kCols);
      for (std::uint64_t r = 0; r < kRows; ++r) {
        decode_row_unrounded(w.view, r, unrounded);
        c.encoding == Encoding::q8g64 ? decode_row(w.view, r, row) : decode_row_unrounded(w.view, r, row);
        for (std::uint64_t t = 0; t < kTokens; ++t) {
          for (std::uint64_t i = 0; i < kCols; ++i) {
            const double value = x.floats[t * x.stride + i];
            const double quantized =
                double(x.quants[t * x.blocks * 32 + i]) * double(x.scales[t * x.blocks + i / 32]);
            exact[t * kRows + r] += row[i] * value;
            exact_q8[t * kRows + r] += unrounded[i] * quantized;
            size[t * kRows + r] += std::fabs(unrounded[i] * value);
          }
        }
      }
      for (const Target target : available_targets()) {
        const kernels::Table& table = kernels::table_of(target);
        for (const std::uint64_t n_tokens : {1u, 3u, 9u}) {
          INFO(encoding_info(c.encoding).name << " " << scale_type_name(c.scales) << " "
                                              << target_name(target) << " tokens " << n_tokens);
          // Those that are not near, a NaN too.
          const auto n_far = [&](const std::vector<float>& got, const std::vector<double>& want) {
            std::size_t n = 0;
            for (std::size_t i = 0; i < got.size(); ++i)
              n += std::fabs(got[i] - want[i]) <= 1e-5 * size[i] ? 0 : 1;
            return n;
          };
          CHECK(n_far(run_f32(table, w, x, n_tokens), exact) == 0);
          if (encoding_info(c.encoding).takes_q8())
            CHECK(n_far(run_q8(table, w, x, n_tokens), exact_q8) == 0);
        }
      }
    }
  }
}

TEST_CASE("any range of rows gives those of all", "[kernels]") {
  Random random(5);
  constexpr std::uint64_t kRows = 48, kCols = 256;
  for (const StoredAs& c : all_encodings()) {
    const TestMatrix w(random, c.encoding, c.scales, kRows, kCols);
    const Acts x(random, 5, kCols, 1.0f);
    const auto index = static_cast<std::size_t>(c.encoding);
    for (const Target target : available_targets()) {
      const kernels::Table& table = kernels::table_of(target);
      INFO(encoding_info(c.encoding).name << " " << target_name(target));
      for (const std::uint64_t n_tokens : {1u, 3u, 5u}) {
        std::vector<unsigned char> tiles(kernels::tiles_bytes(n_tokens, kCols));
        for (std::uint64_t t = 0; t < n_tokens; ++t) table.pack_token(x.token(t), kCols, t, tiles.data());
        kernels::QuantizedActs acts = x.token(0);
        acts.tiles = tiles.data();
        std::vector<float> q8(n_tokens * kRows), f32(n_tokens * kRows);
        for (const auto& [begin, end] :
             {std::pair{0, 7}, std::pair{7, 16}, std::pair{16, 20}, std::pair{20, 48}}) {
          table.matmul_f32[index](w.matrix(), x.floats.data(), x.stride, n_tokens, begin, end, f32.data(),
                                  kRows, panel_scratch(kCols));
          if (table.matmul_q8[index] == nullptr) continue;
          table.matmul_q8[index](w.matrix(), acts, n_tokens, begin, end, q8.data(), kRows,
                                 panel_scratch(kCols));
        }
        CHECK(same_bits(f32, run_f32(table, w, x, n_tokens)));
        if (table.matmul_q8[index] != nullptr) CHECK(same_bits(q8, run_q8(table, w, x, n_tokens)));
      }
    }
  }
}
