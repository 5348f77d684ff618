// The identities of the conversion: what must be equal, is.

#include "catch.hpp"
#include "latent/latent_basis.hpp"

#include <cmath>
#include <random>

using namespace ml;

namespace {

constexpr std::uint64_t kHead = 128;

Dense random_matrix(std::uint64_t rows, std::uint64_t cols, std::mt19937& random) {
  Dense matrix(rows, cols);
  for (double& value : matrix.values) value = (static_cast<double>(random()) / 0x1p31 - 1) / 8;
  return matrix;
}

struct Layer {
  Layer(std::uint64_t n_heads, std::uint64_t n_kv_heads, std::uint64_t dim) {
    std::mt19937 random(static_cast<unsigned>(n_heads * 100 + n_kv_heads));
    heads = {.n_heads = n_heads,
             .n_kv_heads = n_kv_heads,
             .wq = random_matrix(n_heads * kHead, dim, random),
             .wk = random_matrix(n_kv_heads * kHead, dim, random),
             .wv = random_matrix(n_kv_heads * kHead, dim, random)};
    const Dense x = random_matrix(dim, dim + 8, random);
    inputs = multiply_transposed(pool, x, x);
  }
  HeadWeights heads;
  Dense inputs;
  ThreadPool pool{2};
};

// Rows [first, first + 128) of the map of a head, transposed, times a matrix.
Dense map_transposed(ThreadPool& pool, const Dense& maps, std::uint64_t first, std::uint64_t rows,
                     const Dense& by) {
  Dense map(rows, maps.cols);
  std::copy_n(maps.row(first), rows * maps.cols, map.values.begin());
  return multiply_transposed(pool, transposed(map), transposed(by));
}

double difference(const Dense& a, const double* b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) worst = std::max(worst, std::fabs(a.values[i] - b[i]));
  return worst;
}

// q_rope_mix^T k_rope_proj + q_lat^T kv_a_x = Wk and v_up kv_a_x = Wv, for each head: all there is where
// positions are equal.
double identity_error(Layer& layer, const LatentWeights& latent, std::uint64_t rank) {
  double worst = 0;
  const std::uint64_t group = layer.heads.n_heads / layer.heads.n_kv_heads;
  for (std::uint64_t head = 0; head < layer.heads.n_heads; ++head) {
    const std::uint64_t first = head / group * kHead;
    Dense key = map_transposed(layer.pool, latent.q_rope_mix, head * kHead, kHead, latent.k_rope_proj);
    const Dense rest = map_transposed(layer.pool, latent.q_lat, head * rank, rank, latent.kv_a_x);
    for (std::size_t i = 0; i < key.values.size(); ++i) key.values[i] += rest.values[i];
    worst = std::max(worst, difference(key, layer.heads.wk.row(first)));
    Dense up(kHead, rank);
    std::copy_n(latent.v_up.row(head * kHead), kHead * rank, up.values.begin());
    const Dense value = multiply_transposed(layer.pool, up, transposed(latent.kv_a_x));
    worst = std::max(worst, difference(value, layer.heads.wv.row(first)));
  }
  return worst;
}

}  // namespace

TEST_CASE("one key-value head converts without a change", "[latent]") {
  Layer layer(2, 1, 96);
  const LatentWeights latent = fit_latent(layer.pool, layer.heads, layer.inputs, 128, 1);
  CHECK(difference(latent.k_rope_proj, layer.heads.wk.row(0)) == 0);
  CHECK(difference(latent.kv_a_x, layer.heads.wv.row(0)) == 0);
  for (std::uint64_t row = 0; row < 2 * kHead; ++row) {
    for (std::uint64_t c = 0; c < kHead; ++c) {
      const double unit = row % kHead == c ? 1 : 0;
      REQUIRE(latent.q_rope_mix.at(row, c) == unit);
      REQUIRE(latent.v_up.at(row, c) == unit);
      REQUIRE(latent.q_lat.at(row, c) == 0);
    }
  }
  CHECK(latent.rotation_lost == 0);
  CHECK(latent.latent_lost == 0);
  CHECK(identity_error(layer, latent, 128) == 0);
}

TEST_CASE("at full rank keys and values are whole where positions are equal", "[latent]") {
  struct Case {
    std::uint64_t n_heads, n_kv_heads, dim, rank;
  };
  // min(dim, (2 KV - 1) 128)
  for (const Case& test :
       {Case{4, 2, 512, 384}, Case{4, 2, 96, 96}, Case{6, 3, 192, 192}, Case{4, 4, 256, 256}}) {
    INFO(test.n_heads << " " << test.n_kv_heads << " " << test.dim);
    Layer layer(test.n_heads, test.n_kv_heads, test.dim);
    const LatentWeights latent = fit_latent(layer.pool, layer.heads, layer.inputs, test.rank, 1);
    CHECK(identity_error(layer, latent, test.rank) < 1e-10);
    CHECK(latent.latent_lost < 1e-10);
    CHECK(latent.rotation_lost > 0.1);
    const LatentWeights less = fit_latent(layer.pool, layer.heads, layer.inputs, test.rank - 32, 1);
    CHECK(identity_error(layer, less, test.rank - 32) > 1e-4);
    CHECK(less.latent_lost > 1e-6);
  }
}

// Values that are no linear function of x are part of the input: x and values side by side.
TEST_CASE("at full rank mixed values are whole where positions are equal", "[latent]") {
  constexpr std::uint64_t kDim = 96;
  constexpr std::uint64_t kValues = 2 * kHead;
  Layer layer(4, 2, kDim + kValues);
  for (Dense* weights : {&layer.heads.wq, &layer.heads.wk}) {
    for (std::uint64_t r = 0; r < weights->rows; ++r) std::fill_n(weights->row(r) + kDim, kValues, 0.0);
  }
  layer.heads.wv = Dense(kValues, kDim + kValues);
  for (std::uint64_t i = 0; i < kValues; ++i) layer.heads.wv.at(i, kDim + i) = 1;
  // min(dim, (KV - 1) 128) + KV 128
  const LatentWeights latent = fit_latent(layer.pool, layer.heads, layer.inputs, kDim + kValues, 1);
  CHECK(identity_error(layer, latent, kDim + kValues) < 1e-10);
  for (std::uint64_t r = 0; r < kHead; ++r) {
    for (std::uint64_t c = kDim; c < kDim + kValues; ++c) REQUIRE(latent.k_rope_proj.at(r, c) == 0);
  }
  CHECK(identity_error(layer, fit_latent(layer.pool, layer.heads, layer.inputs, 320, 1), 320) > 1e-4);
}

// Every head's keys a complex multiple of one linear function, frequency by frequency: nothing is lost at any
// distance, and the rank of values is enough.
TEST_CASE("proportional keys convert without a loss", "[latent]") {
  Layer layer(4, 2, 160);
  for (std::uint64_t i = 0; i < kHead / 2; ++i) {
    const double re = 0.3 + 0.01 * static_cast<double>(i);
    const double im = 1.1 - 0.02 * static_cast<double>(i);
    for (std::uint64_t c = 0; c < 160; ++c) {
      const double x = layer.heads.wk.at(i, c);
      const double y = layer.heads.wk.at(i + kHead / 2, c);
      layer.heads.wk.at(kHead + i, c) = re * x - im * y;
      layer.heads.wk.at(kHead + i + kHead / 2, c) = re * y + im * x;
    }
  }
  const LatentWeights latent = fit_latent(layer.pool, layer.heads, layer.inputs, 256, 1);
  CHECK(latent.rotation_lost < 1e-12);
  CHECK(identity_error(layer, latent, 256) < 1e-12);
  for (const double value : latent.q_lat.values) REQUIRE(value == 0);
}

TEST_CASE("heads without keys or queries do not disturb a fit", "[latent]") {
  Layer layer(4, 2, 96);
  std::fill_n(layer.heads.wk.row(kHead), kHead * 96, 0.0);
  std::fill_n(layer.heads.wq.row(0), 2 * kHead * 96, 0.0);
  const LatentWeights latent = fit_latent(layer.pool, layer.heads, layer.inputs, 96, 1);
  CHECK(identity_error(layer, latent, 96) < 1e-8);
  Layer dead(2, 2, 64);
  dead.heads.wq = Dense(2 * kHead, 64);
  dead.heads.wk = Dense(2 * kHead, 64);
  CHECK(identity_error(dead, fit_latent(dead.pool, dead.heads, dead.inputs, 64, 1), 64) < 1e-10);
}

TEST_CASE("the scale of rotated keys goes into the others' weights", "[latent]") {
  Layer layer(4, 2, 96);
  const LatentWeights plain = fit_latent(layer.pool, layer.heads, layer.inputs, 96, 1);
  const LatentWeights scaled = fit_latent(layer.pool, layer.heads, layer.inputs, 96, 4);
  for (std::size_t i = 0; i < plain.q_lat.values.size(); ++i)
    REQUIRE(scaled.q_lat.values[i] == 4 * plain.q_lat.values[i]);
}

TEST_CASE("a fit has the same bits with any number of threads", "[latent]") {
  Layer layer(4, 2, 192);
  ThreadPool one(1);
  const LatentWeights a = fit_latent(one, layer.heads, layer.inputs, 64, 1);
  const LatentWeights b = fit_latent(layer.pool, layer.heads, layer.inputs, 64, 1);
  CHECK(a.kv_a_x.values == b.kv_a_x.values);
  CHECK(a.q_lat.values == b.q_lat.values);
  CHECK(a.v_up.values == b.v_up.values);
}
