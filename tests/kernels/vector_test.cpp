#include "catch.hpp"
#include "kernels/support.hpp"

#include "util/half.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ml;

namespace {

// Distance in units of the last place of the true value.
double ulps(float got, double want) {
  if (std::isinf(got) && std::abs(want) > std::numeric_limits<float>::max()) return 0;
  const auto nearest = static_cast<float>(want);
  const float above = std::nextafter(std::fabs(nearest), std::numeric_limits<float>::infinity());
  const double unit = double(above) - double(std::fabs(nearest));
  return std::fabs(double(got) - want) / unit;
}

std::vector<float> interesting_floats(Random& random, std::size_t n) {
  std::vector<float> values{0.0f,     -0.0f, 1e-45f, -1e-45f,  1e-38f,    3.4e38f,
                            -3.4e38f, 1.0f,  -1.0f,  INFINITY, -INFINITY, NAN};
  while (values.size() < n) {
    std::uint32_t bits = random.bits();
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(random.bits() & 1 ? value : random.uniform() * 100.0f);
  }
  return values;
}

}  // namespace

TEST_CASE("exp keeps its bound, and is exact where it must be", "[kernels]") {
  std::vector<float> x;
  for (double v = -104.5; v < 89.5; v += 0.000173) x.push_back(static_cast<float>(v));
  for (float v = 1e-38f; v < 1.0f; v *= 1.01f) x.insert(x.end(), {v, -v});
  std::vector<float> y(x.size());
  kernels::scalar_table.exp(x.data(), x.size(), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::exp(double(x[i]))));
  CHECK(worst < 1.25);

  const float special[] = {0.0f, -0.0f, -INFINITY, INFINITY, 89.0f, 1e30f, -1e30f, -104.0f, NAN};
  const float expected[] = {1.0f, 1.0f, 0.0f, INFINITY, INFINITY, INFINITY, 0.0f, 0.0f};
  float result[9];
  kernels::scalar_table.exp(special, 9, result);
  for (int i = 0; i < 8; ++i) CHECK(result[i] == expected[i]);
  CHECK(std::isnan(result[8]));
}

TEST_CASE("every target's vector kernels equal scalar's bits", "[kernels]") {
  Random random(4);
  for (const Target target : fast_targets()) {
    const kernels::Table& fast = kernels::table_of(target);
    const kernels::Table& scalar = kernels::scalar_table;
    for (const std::size_t n : {1u, 8u, 15u, 16u, 17u, 64u, 1000u, 4096u}) {
      INFO(target_name(target) << " n " << n);
      const std::vector<float> x = interesting_floats(random, std::max<std::size_t>(n, 16));
      std::vector<float> a(n), b(n);
      fast.exp(x.data(), n, a.data());
      scalar.exp(x.data(), n, b.data());
      CHECK(same_bits(a, b));

      std::vector<float> up(n), weight(n), tame(n);
      for (std::size_t i = 0; i < n; ++i)
        up[i] = random.uniform(), weight[i] = random.uniform(), tame[i] = random.uniform() * 20;
      a = tame, b = tame;
      fast.silu_mul(a.data(), up.data(), n);
      scalar.silu_mul(b.data(), up.data(), n);
      CHECK(same_bits(a, b));
      fast.rms_norm(tame.data(), weight.data(), n, 1e-5f, a.data());
      scalar.rms_norm(tame.data(), weight.data(), n, 1e-5f, b.data());
      CHECK(same_bits(a, b));

      a = tame, b = tame;
      fast.gelu_mul(a.data(), up.data(), n);
      scalar.gelu_mul(b.data(), up.data(), n);
      CHECK(same_bits(a, b));
      a = tame, b = tame;
      fast.sigmoid_mul(a.data(), up.data(), n);
      scalar.sigmoid_mul(b.data(), up.data(), n);
      CHECK(same_bits(a, b));
      a = tame, b = tame;
      fast.softplus_mul(a.data(), x.data(), n);
      scalar.softplus_mul(b.data(), x.data(), n);
      CHECK(same_bits(a, b));
      a = tame, b = tame;
      fast.softcap(a.data(), n, 4.0f);
      scalar.softcap(b.data(), n, 4.0f);
      CHECK(same_bits(a, b));
      a = tame, b = tame;
      fast.l2_norm(a.data(), n, 1e-6f, 0.25f);
      scalar.l2_norm(b.data(), n, 1e-6f, 0.25f);
      CHECK(same_bits(a, b));
      const std::uint64_t channels = n / 4;
      const float* const taps[] = {tame.data(), tame.data() + channels, x.data(), up.data()};
      fast.conv_silu(taps, weight.data(), 4, channels, a.data());
      scalar.conv_silu(taps, weight.data(), 4, channels, b.data());
      CHECK(same_bits(a, b));

      std::vector<std::uint16_t> ha(n), hb(n);
      fast.to_f16(x.data(), n, ha.data());
      scalar.to_f16(x.data(), n, hb.data());
      CHECK(ha == hb);
    }
  }
}

TEST_CASE("tanh, GELU, sigmoid and softcap are the functions they are named after", "[kernels]") {
  std::vector<float> x;
  for (double v = -30; v < 30; v += 0.00173) x.push_back(static_cast<float>(v));
  for (float v = 1e-38f; v < 1.0f; v *= 1.01f) x.insert(x.end(), {v, -v});
  std::vector<float> y = x;
  kernels::scalar_table.softcap(y.data(), y.size(), 1.0f);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::tanh(double(x[i]))));
  CHECK(worst <= 2.0);

  const std::vector<float> ones(x.size(), 1.0f);
  y = x;
  kernels::scalar_table.gelu_mul(y.data(), ones.data(), y.size());
  std::vector<float> sigmoid = ones;
  kernels::scalar_table.sigmoid_mul(sigmoid.data(), x.data(), x.size());
  double gelu_worst = 0;
  double sigmoid_worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
    gelu_worst = std::max(gelu_worst,
                          std::fabs(y[i] - 0.5 * v * (1 + std::tanh(inner))) / std::max(1.0, std::fabs(v)));
    sigmoid_worst = std::max(sigmoid_worst, std::fabs(sigmoid[i] - 1 / (1 + std::exp(-v))));
  }
  CHECK(gelu_worst < 3e-7);
  CHECK(sigmoid_worst < 3e-7);
}

TEST_CASE("the softplus gate keeps its bound, and is exact where it must be", "[kernels]") {
  std::vector<float> x;
  for (double v = -126; v < 60; v += 0.000173) x.push_back(static_cast<float>(v));
  for (float v = 1e-38f; v < 1.0f; v *= 1.01f) x.insert(x.end(), {v, -v});
  std::vector<float> y(x.size(), 1.0f);
  kernels::scalar_table.softplus_mul(y.data(), x.data(), x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, ulps(y[i], std::log1p(std::exp2(double(x[i]))) / std::log(2.0)));
  CHECK(worst < 2.5);

  const float special[] = {0.0f, -0.0f, -INFINITY, -151.0f, -3.4e38f, INFINITY, 3.4e38f, 100.0f, NAN};
  const float expected[] = {1.0f, 1.0f, 0.0f, 0.0f, 0.0f, INFINITY, 3.4e38f, 100.0f};
  float result[9];
  std::fill_n(result, 9, 1.0f);
  kernels::scalar_table.softplus_mul(result, special, 9);
  for (int i = 0; i < 8; ++i) CHECK(result[i] == expected[i]);
  CHECK(std::isnan(result[8]));
}

TEST_CASE("a step of the delta rule equals scalar's bits and the formula", "[kernels]") {
  Random random(7);
  for (const auto& [k_dim, v_dim] :
       {std::pair{4, 4}, std::pair{16, 16}, std::pair{16, 20}, std::pair{128, 128}, std::pair{7, 100}}) {
    std::vector<float> state(k_dim * v_dim), query(k_dim), key(k_dim), value(v_dim);
    for (auto* v : {&state, &query, &key, &value}) {
      for (float& f : *v) f = random.uniform();
    }
    const float decay = 0.9f;
    const float beta = 0.6f;
    std::vector<double> expected(v_dim);
    for (int c = 0; c < v_dim; ++c) {
      double recalled = 0;
      for (int i = 0; i < k_dim; ++i) recalled += double(key[i]) * decay * state[i * v_dim + c];
      for (int i = 0; i < k_dim; ++i) {
        expected[c] +=
            query[i] * (double(decay) * state[i * v_dim + c] + key[i] * beta * (value[c] - recalled));
      }
    }
    std::vector<float> scalar_state = state;
    std::vector<float> scalar_out(v_dim);
    kernels::DeltaArgs args{.state = scalar_state.data(),
                            .query = query.data(),
                            .key = key.data(),
                            .value = value.data(),
                            .k_dim = std::uint64_t(k_dim),
                            .v_dim = std::uint64_t(v_dim),
                            .decay = decay,
                            .beta = beta,
                            .out = scalar_out.data()};
    kernels::scalar_table.delta_step(args, 0, v_dim);
    for (int c = 0; c < v_dim; ++c) CHECK(std::fabs(scalar_out[c] - expected[c]) < 1e-4);
    for (const Target target : fast_targets()) {
      std::vector<float> fast_state = state;
      std::vector<float> fast_out(v_dim);
      args.state = fast_state.data();
      args.out = fast_out.data();
      const std::uint64_t middle = v_dim / 2 / 16 * 16;  // pieces of columns are independent
      kernels::table_of(target).delta_step(args, 0, middle);
      kernels::table_of(target).delta_step(args, middle, v_dim);
      CHECK(same_bits(fast_state, scalar_state));
      CHECK(same_bits(fast_out, scalar_out));
    }
  }
}

TEST_CASE("a thousand steps of the delta rule stay with float64", "[kernels]") {
  constexpr int kKeys = 32, kValues = 48, kSteps = 1000;
  for (const float slowest : {0.9f, 0.999f, 1.0f}) {  // 1: nothing is ever forgotten
    Random random(17);
    std::vector<double> exact_state(kKeys * kValues);
    std::vector<float> state(kKeys * kValues), query(kKeys), key(kKeys), value(kValues), out(kValues);
    double worst = 0;
    double largest = 0;
    for (int step = 0; step < kSteps; ++step) {
      for (auto* vector : {&query, &key, &value}) {
        for (float& f : *vector) f = random.uniform();
      }
      for (auto* vector : {&query, &key}) {  // as the layer has them: of length 1
        double square = 0;
        for (const float f : *vector) square += double(f) * f;
        for (float& f : *vector) f = static_cast<float>(f / std::sqrt(square));
      }
      const float decay = slowest * (1 - 0.01f * std::fabs(random.uniform()) * (slowest < 1));
      const float beta = std::fabs(random.uniform());
      kernels::table_of(Target::best)
          .delta_step({.state = state.data(),
                       .query = query.data(),
                       .key = key.data(),
                       .value = value.data(),
                       .k_dim = kKeys,
                       .v_dim = kValues,
                       .decay = decay,
                       .beta = beta,
                       .out = out.data()},
                      0, kValues);
      for (int c = 0; c < kValues; ++c) {
        double recalled = 0;
        for (int i = 0; i < kKeys; ++i) recalled += key[i] * (exact_state[i * kValues + c] *= decay);
        double exact = 0;
        for (int i = 0; i < kKeys; ++i) {
          double& cell = exact_state[i * kValues + c];
          cell += key[i] * (beta * (value[c] - recalled));
          exact += query[i] * cell;
        }
        worst = std::max(worst, std::isfinite(out[c]) ? std::fabs(out[c] - exact) : HUGE_VAL);
        largest = std::max(largest, std::fabs(exact));
      }
    }
    for (std::size_t i = 0; i < state.size(); ++i)
      worst = std::max(worst, std::fabs(state[i] - exact_state[i]));
    INFO("decay up to " << slowest << ": " << worst << " of " << largest);
    CHECK(largest > 0.1);
    CHECK(worst < 1e-5 * largest);
  }
}

TEST_CASE("activations are quantized by the format's rule on every target", "[kernels]") {
  Random random(5);
  std::vector<float> x = interesting_floats(random, 32 * 40);
  for (std::size_t i = 32; i < 64; ++i) x[i] = 0.0f;
  for (std::size_t i = 64; i < 96; ++i) x[i] = 1e-31f;
  for (std::size_t i = 96; i < 128; ++i) x[i] = static_cast<float>(i) - 110.5f;  // ties between levels
  const std::size_t n_blocks = x.size() / 32;
  std::vector<std::int8_t> quants(x.size());
  std::vector<float> scales(n_blocks);
  std::vector<std::int32_t> offsets(n_blocks);
  kernels::scalar_table.quantize_q8(x.data(), x.size(), quants.data(), scales.data(), offsets.data());
  for (std::size_t b = 1; b < n_blocks; ++b) {
    float amax = 0;
    bool finite = true;
    for (std::size_t j = 0; j < 32; ++j) {
      finite = finite && std::isfinite(x[32 * b + j]);
      amax = std::max(amax, std::fabs(x[32 * b + j]));
    }
    if (!finite) continue;
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < 32; ++j) {
      const float v = x[32 * b + j];
      const float level = amax < 1e-30f ? 0.0f : std::trunc(v * (127.0f / amax) + std::copysign(0.5f, v));
      const int expected = static_cast<int>(std::clamp(level, -127.0f, 127.0f));
      CHECK(int(quants[32 * b + j]) == expected);
      sum += expected;
    }
    CHECK(scales[b] == (amax < 1e-30f ? 0.0f : amax / 127.0f));
    CHECK(offsets[b] == -128 * sum);
  }
  for (const Target target : fast_targets()) {
    std::vector<std::int8_t> q(x.size());
    std::vector<float> d(n_blocks);
    std::vector<std::int32_t> s(n_blocks);
    kernels::table_of(target).quantize_q8(x.data(), x.size(), q.data(), d.data(), s.data());
    INFO(target_name(target));
    CHECK(q == quants);
    CHECK(s == offsets);
    CHECK(same_bits(d, scales));
  }
}
