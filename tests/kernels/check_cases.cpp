#include "kernels/check_cases.hpp"

#include "runtime/latent_codec.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <ml/model.hpp>

#include <fmt/format.h>

#include <functional>

using namespace ml;
using kernels::Table;

namespace {

std::vector<float> random_floats(std::uint64_t n, float magnitude = 1.0f) {
  Random random(static_cast<std::uint32_t>(n));
  std::vector<float> values(n);
  for (float& v : values) v = random.uniform() * magnitude;
  return values;
}

std::vector<std::byte> bytes_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

// A weight matrix times tokens, with Q8 or float activations.
struct Product : CheckCase {
  static constexpr std::uint64_t kRows = 112;  // no multiple of a panel
  Random random{1};
  TestMatrix weights;
  std::uint64_t n_tokens, cols, blocks, stride;
  bool q8;
  std::vector<float> floats, scales, out;
  std::vector<std::int8_t> quants;
  std::vector<std::int32_t> offsets;
  std::vector<unsigned char> tiles;
  const Table* tiles_of = nullptr;

  Product(Encoding encoding, ScaleType scale_type, bool q8_acts, std::uint64_t width, std::uint64_t tokens)
      : weights(random, encoding, scale_type, kRows, width),
        n_tokens(tokens),
        cols(width),
        blocks(kernels::padded_blocks(width)),
        stride(kernels::padded_floats(width)),
        q8(q8_acts),
        floats(random_floats(tokens * stride)),
        scales(tokens * blocks),
        out(tokens * kRows),
        quants(tokens * blocks * 32),
        offsets(tokens * blocks),
        tiles(kernels::tiles_bytes(tokens, width)) {
    name = fmt::format("matmul {} {}/{} {} x {}", q8 ? "q8" : "f32", encoding_info(encoding).name,
                       scale_type_name(scale_type), cols, n_tokens);
    bytes = static_cast<double>(weights.view.n_bytes());
    if (n_tokens > 1) ops = 2.0 * static_cast<double>(kRows * cols * n_tokens);
    unit = q8 ? "OP" : "FLOP";
    for (std::uint64_t t = 0; t < n_tokens; ++t) {
      kernels::scalar_table.quantize_q8(floats.data() + t * stride, cols, quants.data() + t * blocks * 32,
                                        scales.data() + t * blocks, offsets.data() + t * blocks);
    }
  }
  kernels::QuantizedActs token(std::uint64_t t) const {
    return {quants.data() + t * blocks * 32, scales.data() + t * blocks, offsets.data() + t * blocks, blocks,
            tiles.data()};
  }
  void run(const Table& table) override {
    static unsigned char* const scratch = panel_scratch(4096);
    const auto encoding = static_cast<int>(weights.view.encoding);
    if (!q8) {
      return table.matmul_f32[encoding](weights.matrix(), floats.data(), stride, n_tokens, 0, kRows,
                                        out.data(), kRows, scratch);
    }
    if (tiles_of != &table) {
      for (std::uint64_t t = 0; t < n_tokens; ++t) table.pack_token(token(t), cols, t, tiles.data());
      tiles_of = &table;
    }
    table.matmul_q8[encoding](weights.matrix(), token(0), n_tokens, 0, kRows, out.data(), kRows, scratch);
  }
  std::vector<std::byte> output() const override { return bytes_of(out); }
};

struct Attend : CheckCase {
  static constexpr std::uint64_t kCapacity = 512;
  std::uint64_t head_dim, value_dim, n_queries;
  int type;
  std::vector<unsigned char> keys, values;
  std::vector<float> queries, out, scratch;
  std::vector<kernels::AttentionQuery> list;

  // A rank is that of latent attention: values are the beginnings of the keys' rows.
  Attend(int kv_type, std::uint64_t dim, std::uint64_t n, std::uint64_t rank = 0)
      : head_dim(dim),
        value_dim(rank == 0 ? dim : rank),
        n_queries(n),
        type(kv_type),
        keys(cache(1)),
        values(rank == 0 ? cache(2) : std::vector<unsigned char>()),
        queries(random_floats(n * kernels::padded_floats(dim))),
        out(n * value_dim),
        scratch(kernels::attention_floats(dim)) {
    name = fmt::format("attend {} {} {} x {} queries", kv_type_name(static_cast<KvType>(type)),
                       rank == 0 ? "head" : "latent", value_dim, n_queries);
    ops = 2.0 * static_cast<double>(n * (head_dim + value_dim) * 400);
    unit = "FLOP";
    for (std::uint64_t q = 0; q < n; ++q) {
      list.push_back(
          {queries.data() + q * kernels::padded_floats(dim), out.data() + q * value_dim, 0, 400 + q});
    }
  }
  // Rows as the cache stores them.
  std::vector<unsigned char> cache(std::uint32_t seed) const {
    Random random(seed);
    const std::uint64_t row_bytes = type == kernels::kKvF32   ? 4 * head_dim
                                    : type == kernels::kKvQ8  ? kernels::q8_row_bytes(head_dim)
                                    : type == kernels::kKvFp8 ? kernels::latent_row_bytes(head_dim, false)
                                    : type == kernels::kKvFp4 ? kernels::latent_row_bytes(head_dim, true)
                                                              : 2 * head_dim;
    std::vector<unsigned char> rows(kCapacity * row_bytes);
    for (std::uint64_t p = 0; p < kCapacity; ++p) {
      std::vector<float> x((head_dim + 31) / 32 * 32);
      for (std::uint64_t d = 0; d < head_dim; ++d) x[d] = random.uniform();
      unsigned char* row = rows.data() + p * row_bytes;
      if (type == kernels::kKvF32) std::memcpy(row, x.data(), row_bytes);
      for (std::uint64_t d = 0; type == kernels::kKvBf16 && d < head_dim; ++d)
        store_le(reinterpret_cast<std::byte*>(row) + 2 * d, f32_to_bf16(x[d]));
      if (type == kernels::kKvFp8 || type == kernels::kKvFp4)
        encode_latent({x.data(), head_dim}, type == kernels::kKvFp4, row);
      if (type == kernels::kKvF16)
        kernels::scalar_table.to_f16(x.data(), head_dim, reinterpret_cast<std::uint16_t*>(row));
      if (type == kernels::kKvQ8) {
        std::vector<float> scales(x.size() / 32);
        std::vector<std::int32_t> offsets(scales.size());
        kernels::scalar_table.quantize_q8(x.data(), x.size(), reinterpret_cast<std::int8_t*>(row),
                                          scales.data(), offsets.data());
        store_le(row + x.size(), std::span(scales));
      }
    }
    return rows;
  }
  void run(const Table& table) override {
    table.attend[type]({.queries = list.data(),
                        .n_queries = n_queries,
                        .keys = keys.data(),
                        .values = values.empty() ? keys.data() : values.data(),
                        .capacity = kCapacity,
                        .head_dim = head_dim,
                        .value_dim = value_dim,
                        .scale = 0.125f,
                        .softcap = 0,
                        .scratch = scratch.data()});
  }
  std::vector<std::byte> output() const override { return bytes_of(out); }
};

// A kernel over one vector: x is fresh for each run.
struct Vector : CheckCase {
  using Job = std::function<void(const Table&, float* x, const float* y, std::uint64_t n, float* out)>;
  std::vector<float> input, x, y, out;
  Job job;

  Vector(std::string kernel, std::uint64_t n, Job kernel_job)
      : input(random_floats(n, 20.0f)), x(n), y(random_floats(n + 1)), out(n), job(std::move(kernel_job)) {
    name = fmt::format("{} {}", kernel, n);
    bytes = 4.0 * static_cast<double>(n);
  }
  void run(const Table& table) override {
    x = input;
    job(table, x.data(), y.data(), x.size(), out.data());
  }
  std::vector<std::byte> output() const override {
    std::vector<std::byte> both = bytes_of(x);
    const std::vector<std::byte> more = bytes_of(out);
    both.insert(both.end(), more.begin(), more.end());
    return both;
  }
};

std::vector<std::pair<std::string, Vector::Job>> vector_jobs() {
  using F = float*;
  using C = const float*;
  using N = std::uint64_t;
  return {
      {"quantize_q8",
       [](const Table& t, F x, C, N n, F out) {
         n = n / 32 * 32;
         std::vector<std::int32_t> offsets(n / 32);
         t.quantize_q8(x, n, reinterpret_cast<std::int8_t*>(out), out + n / 4, offsets.data());
         std::memcpy(x, offsets.data(), offsets.size() * 4);
       }},
      {"rms_norm", [](const Table& t, F x, C y, N n, F out) { t.rms_norm(x, y, n, 1e-5f, out); }},
      {"l2_norm", [](const Table& t, F x, C, N n, F) { t.l2_norm(x, n, 1e-6f, 1.0f); }},
      {"silu_mul", [](const Table& t, F x, C y, N n, F) { t.silu_mul(x, y, n); }},
      {"gelu_mul", [](const Table& t, F x, C y, N n, F) { t.gelu_mul(x, y, n); }},
      {"sigmoid_mul", [](const Table& t, F x, C y, N n, F) { t.sigmoid_mul(x, y, n); }},
      {"softplus_mul", [](const Table& t, F x, C y, N n, F) { t.softplus_mul(x, y, n); }},
      {"softcap", [](const Table& t, F x, C, N n, F) { t.softcap(x, n, 30.0f); }},
      {"exp", [](const Table& t, F x, C, N n, F out) { t.exp(x, n, out); }},
      {"to_f16",
       [](const Table& t, F x, C, N n, F out) { t.to_f16(x, n, reinterpret_cast<std::uint16_t*>(out)); }},
      {"conv_silu",
       [](const Table& t, F x, C y, N n, F out) {
         const float* const inputs[] = {x, y};
         t.conv_silu(inputs, x, 1, n, out);
       }},
      {"delta_step",
       [](const Table& t, F x, C y, N n, F out) {
         const N v_dim = n / 64;
         t.delta_step({x, y, y + 32, y + 16, 64, v_dim, 0.9f, 0.5f, out}, 0, v_dim);
       }},
  };
}

}  // namespace

std::vector<std::unique_ptr<CheckCase>> check_cases() {
  std::vector<std::unique_ptr<CheckCase>> cases;
  for (const auto& [encoding, scales] : all_encodings()) {
    for (const bool q8 : {true, false}) {
      if (q8 && kernels::scalar_table.matmul_q8[static_cast<int>(encoding)] == nullptr) continue;
      for (const std::uint64_t n_tokens : {1u, 3u, 6u, 61u}) {
        for (const std::uint64_t cols : {640u, 2048u}) {
          cases.push_back(std::make_unique<Product>(encoding, scales, q8, cols, n_tokens));
        }
      }
    }
  }
  for (int type = 0; type < kernels::kKvTypes; ++type) {
    for (const std::uint64_t rank : {96u, 512u}) {
      for (const std::uint64_t n : {1u, 63u})
        cases.push_back(std::make_unique<Attend>(type, rank + kernels::kRopeDim, n, rank));
    }
  }
  for (const int type : {kernels::kKvF32, kernels::kKvF16, kernels::kKvQ8, kernels::kKvBf16}) {
    for (const std::uint64_t head_dim : {64u, 80u, 128u}) {
      for (const std::uint64_t n : {1u, 2u, 3u, 4u, 7u, 63u}) {
        cases.push_back(std::make_unique<Attend>(type, head_dim, n));
      }
    }
  }
  for (auto& [name, job] : vector_jobs()) {
    for (const std::uint64_t n : {4096u, 8211u}) cases.push_back(std::make_unique<Vector>(name, n, job));
  }
  return cases;
}
