#include "catch.hpp"
#include "kernels/support.hpp"
#include "util/bytes.hpp"

#include <cmath>

using namespace ml;

namespace {

constexpr std::uint64_t kCapacity = 256;

// A cache head of 256 positions in every type, and queries.
struct Fixture {
  std::uint64_t head_dim, padded;
  std::vector<float> keys, values, queries;
  std::vector<std::uint16_t> half_keys, half_values;
  std::vector<unsigned char> q8_keys, q8_values;

  Fixture(Random& random, std::uint64_t dim, std::uint64_t n_queries)
      : head_dim(dim),
        padded(kernels::padded_floats(dim)),
        keys(kCapacity * dim),
        values(kCapacity * dim),
        queries(n_queries * padded),
        half_keys(keys.size()),
        half_values(values.size()) {
    for (float& v : keys) v = random.uniform();
    for (float& v : values) v = random.uniform();
    for (std::uint64_t q = 0; q < n_queries; ++q) {
      for (std::uint64_t d = 0; d < dim; ++d) queries[q * padded + d] = random.uniform() * 4;
    }
    kernels::scalar_table.to_f16(keys.data(), keys.size(), half_keys.data());
    kernels::scalar_table.to_f16(values.data(), values.size(), half_values.data());
    q8_keys = to_q8(keys);
    q8_values = to_q8(values);
  }
  std::vector<unsigned char> to_q8(const std::vector<float>& rows) const {
    std::vector<unsigned char> out(kCapacity * kernels::q8_row_bytes(head_dim));
    for (std::uint64_t p = 0; p < kCapacity; ++p) {
      unsigned char* row = out.data() + p * kernels::q8_row_bytes(head_dim);
      for (std::uint64_t d = 0; d < head_dim; d += 32) {
        float block[32] = {};
        for (std::uint64_t i = 0; i < 32 && d + i < head_dim; ++i) block[i] = rows[p * head_dim + d + i];
        float scale;
        std::int32_t offset;
        kernels::scalar_table.quantize_q8(block, 32, reinterpret_cast<std::int8_t*>(row) + d, &scale,
                                          &offset);
        store_le(row + kernels::q8_row_blocks(head_dim) * 32 + d / 32 * 4, scale);
      }
    }
    return out;
  }
  std::vector<float> run(const kernels::Table& table, int type,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
                         float softcap = 0) const {
    const std::uint64_t n = ranges.size();
    std::vector<float> out(n * head_dim);
    std::vector<kernels::AttentionQuery> list;
    for (std::uint64_t q = 0; q < n; ++q) {
      list.push_back(
          {queries.data() + q * padded, out.data() + q * head_dim, ranges[q].first, ranges[q].second});
    }
    std::vector<float> scratch(kernels::attention_floats(head_dim), NAN);
    const void* all_keys[] = {keys.data(), half_keys.data(), q8_keys.data()};
    const void* all_values[] = {values.data(), half_values.data(), q8_values.data()};
    table.attend[type]({.queries = list.data(),
                        .n_queries = n,
                        .keys = all_keys[type],
                        .values = all_values[type],
                        .capacity = kCapacity,
                        .head_dim = head_dim,
                        .value_dim = head_dim,
                        .scale = 0.3f,
                        .softcap = softcap,
                        .scratch = scratch.data()});
    return out;
  }
};

}  // namespace

TEST_CASE("attention is a softmax, and has the same bits on every target and for every group", "[kernels]") {
  Random random(6);
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const Ranges cases[] = {
      {{0, 0}},
      {{0, 63}, {0, 64}},
      {{10, 150}, {0, 199}, {130, 199}},
      {{0, 60}, {0, 61}, {0, 62}, {0, 63}, {0, 64}, {0, 65}, {0, 66}, {0, 67}, {0, 68}},         // causal
      {{60, 150}, {61, 151}, {62, 152}, {63, 153}, {64, 154}, {65, 155}, {66, 156}, {67, 157}},  // windowed
      {{0, 10}, {70, 75}, {30, 127}, {128, 255}},
      {{70, 75}, {128, 255}},
      {{61, 151}, {62, 152}, {63, 153}, {64, 154}, {65, 155}, {128, 255}, {3, 4}},
  };
  for (const std::uint64_t head_dim : {2u, 8u, 16u, 48u, 64u, 80u, 128u}) {
    const Fixture fixture(random, head_dim, 9);
    for (const Ranges& ranges : cases) {
      for (const int type : {kernels::kKvF32, kernels::kKvF16, kernels::kKvQ8}) {
        const std::vector<float> got = fixture.run(kernels::scalar_table, type, ranges);
        const double tolerance = type == kernels::kKvF32 ? 1e-5 : type == kernels::kKvF16 ? 3e-3 : 3e-2;
        for (std::uint64_t q = 0; q < ranges.size(); ++q) {
          double total = 0;
          std::vector<double> sums(head_dim);
          for (std::uint64_t p = ranges[q].first; p <= ranges[q].second; ++p) {
            double score = 0;
            for (std::uint64_t d = 0; d < head_dim; ++d)
              score += double(fixture.queries[q * fixture.padded + d]) * fixture.keys[p * head_dim + d];
            const double weight = std::exp(score * 0.3);
            total += weight;
            for (std::uint64_t d = 0; d < head_dim; ++d) sums[d] += weight * fixture.values[p * head_dim + d];
          }
          double worst = 0;
          for (std::uint64_t d = 0; d < head_dim; ++d)
            worst = std::max(worst, std::fabs(got[q * head_dim + d] - sums[d] / total));
          CHECK(worst < tolerance);
        }
        // Alone, each query is read row by row.
        std::vector<float> alone;
        for (std::uint64_t q = 0; q < ranges.size(); ++q) {
          Fixture shifted = fixture;
          shifted.queries.erase(shifted.queries.begin(),
                                shifted.queries.begin() + static_cast<long>(q * fixture.padded));
          const std::vector<float> one = shifted.run(kernels::scalar_table, type, {ranges[q]});
          alone.insert(alone.end(), one.begin(), one.end());
        }
        CHECK(same_bits(alone, got));
        for (const Target target : fast_targets()) {
          INFO(target_name(target) << " head_dim " << head_dim << " cache type " << type << " queries "
                                   << ranges.size());
          const kernels::Table& table = kernels::table_of(target);
          CHECK(same_bits(fixture.run(table, type, ranges), got));
          CHECK(same_bits(fixture.run(table, type, ranges, 5.0f),
                          fixture.run(kernels::scalar_table, type, ranges, 5.0f)));
        }
      }
    }
  }
}
