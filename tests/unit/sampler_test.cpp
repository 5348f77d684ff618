#include "catch.hpp"

#include <ml/sampling.hpp>

#include <cmath>
#include <vector>

using namespace ml;

namespace {

std::vector<double> shares(const SamplingOptions& options, const std::vector<float>& logits, int n) {
  auto sampler = Sampler::create(options);
  REQUIRE(sampler);
  std::vector<double> counts(logits.size());
  for (int i = 0; i < n; ++i) counts[sampler->sample(logits)] += 1.0 / n;
  return counts;
}

}  // namespace

TEST_CASE("greedy takes the first of the largest logits and ignores NaN", "[sampling]") {
  auto sampler = Sampler::create({});
  REQUIRE(sampler);
  CHECK(sampler->sample(std::vector<float>{1, 3, 3, 2}) == 1);
  CHECK(sampler->sample(std::vector<float>{NAN, -5, -4}) == 2);
  CHECK(sampler->sample(std::vector<float>{NAN, NAN}) == 0);
}

TEST_CASE("draws follow the softmax of the logits", "[sampling]") {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  const auto plain = shares({.temperature = 1, .seed = 7}, logits, 100000);
  // Chi-square with 3 degrees of freedom: above 16.3 once in a thousand seeds; this seed is fixed.
  double chi_square = 0;
  const double expected[] = {0.5, 0.3, 0.15, 0.05};
  for (int i = 0; i < 4; ++i)
    chi_square += 100000 * (plain[i] - expected[i]) * (plain[i] - expected[i]) / expected[i];
  CHECK(chi_square < 16.3);

  const auto top2 = shares({.temperature = 1, .top_k = 2, .seed = 7}, logits, 20000);
  CHECK(top2[2] + top2[3] == 0);
  CHECK(top2[0] == Approx(0.625).margin(0.02));
  const auto nucleus = shares({.temperature = 1, .top_p = 0.75f, .seed = 7}, logits, 20000);
  CHECK(nucleus[2] + nucleus[3] == 0);
  const auto floor = shares({.temperature = 1, .min_p = 0.2f, .seed = 7}, logits, 20000);
  CHECK(floor[3] == 0);
  CHECK(floor[2] > 0);
  const auto cold = shares({.temperature = 0.5f, .seed = 7}, logits, 20000);
  CHECK(cold[0] == Approx(0.25 / (0.25 + 0.09 + 0.0225 + 0.0025)).margin(0.02));
}

TEST_CASE("the same seed gives the same draws, and known ones", "[sampling]") {
  const std::vector<float> logits(100, 0.0f);
  std::vector<std::uint32_t> first, second, other;
  for (auto* ids : {&first, &second, &other}) {
    auto sampler = Sampler::create({.temperature = 1, .seed = ids == &other ? 2ull : 1ull});
    REQUIRE(sampler);
    for (int i = 0; i < 8; ++i) ids->push_back(sampler->sample(logits));
  }
  CHECK(first == second);
  CHECK(first != other);
}

TEST_CASE("a repetition penalty makes seen tokens less likely", "[sampling]") {
  auto sampler = Sampler::create({.repeat_penalty = 2});
  REQUIRE(sampler);
  sampler->accept(0);
  CHECK(sampler->sample(std::vector<float>{3, 2, -1}) == 1);
  sampler->accept(1);
  CHECK(sampler->sample(std::vector<float>{3, 2, -1}) == 0);
}

TEST_CASE("values outside their range are refused by name", "[sampling]") {
  CHECK(Sampler::create({.temperature = -1}).error().message ==
        "temperature is -1, must be at least 0 and finite");
  CHECK(Sampler::create({.top_p = 0}).error().message == "top-p is 0, must be above 0 and at most 1");
  CHECK(Sampler::create({.min_p = 2}).error().status == Status::arg);
  CHECK(Sampler::create({.repeat_penalty = 0}).error().status == Status::arg);
  CHECK(Sampler::create({.temperature = NAN}).error().status == Status::arg);
}
