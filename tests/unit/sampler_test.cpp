#include "catch.hpp"

#include <ml/sampling.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
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

namespace {

// Chi-square of 100000 draws with a fixed seed; a token that must not come makes it infinite.
double chi_square(const SamplingOptions& options, const std::vector<float>& logits,
                  std::vector<double> expected) {
  constexpr int kDraws = 100000;
  const auto drawn = shares(options, logits, kDraws);
  double total = 0;
  for (const double share : expected) total += share;
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double share = expected[i] / total;
    if (share == 0) {
      sum += drawn[i] == 0 ? 0 : HUGE_VAL;
    } else {
      sum += kDraws * (drawn[i] - share) * (drawn[i] - share) / share;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("draws follow the distribution that the options describe", "[sampling]") {
  const std::vector<double> p{0.5, 0.3, 0.15, 0.05};
  std::vector<float> logits;
  for (const double share : p) logits.push_back(static_cast<float>(std::log(share)) + 3.0f);
  // 3 degrees of freedom: above 16.3 for one seed in a thousand; these seeds are fixed.
  constexpr double kLimit = 16.3;
  for (const std::uint64_t seed : {1ull, 7ull, 1234567890123ull}) {
    INFO("seed " << seed);
    CHECK(chi_square({.temperature = 1, .seed = seed}, logits, p) < kLimit);
    CHECK(chi_square({.temperature = 0.5f, .seed = seed}, logits, {0.25, 0.09, 0.0225, 0.0025}) < kLimit);
    CHECK(chi_square({.temperature = 2, .seed = seed}, logits,
                     {std::sqrt(0.5), std::sqrt(0.3), std::sqrt(0.15), std::sqrt(0.05)}) < kLimit);
    CHECK(chi_square({.temperature = 1, .top_k = 2, .seed = seed}, logits, {0.5, 0.3, 0, 0}) < kLimit);
    CHECK(chi_square({.temperature = 1, .top_p = 0.75f, .seed = seed}, logits, {0.5, 0.3, 0, 0}) < kLimit);
    CHECK(chi_square({.temperature = 1, .top_p = 0.85f, .seed = seed}, logits, {0.5, 0.3, 0.15, 0}) < kLimit);
    CHECK(chi_square({.temperature = 1, .min_p = 0.2f, .seed = seed}, logits, {0.5, 0.3, 0.15, 0}) < kLimit);
    CHECK(chi_square({.temperature = 1, .top_k = 3, .min_p = 0.55f, .seed = seed}, logits, {0.5, 0.3, 0, 0}) <
          kLimit);
  }
  // Against the wrong distribution it is far over the limit.
  CHECK(chi_square({.temperature = 1, .seed = 7}, logits, {0.25, 0.25, 0.25, 0.25}) > 1000);
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
  CHECK(first == std::vector<std::uint32_t>{81, 74, 10, 74, 18, 59, 98, 52});
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

TEST_CASE("tokens count as seen while they are among the last ones", "[sampling]") {
  const std::vector<float> logits{4, 3, 2, 1};
  auto sampler = Sampler::create({.repeat_penalty = 8, .repeat_last = 3});
  REQUIRE(sampler);
  std::vector<std::uint32_t> said;
  std::uint64_t random = 1;
  for (int i = 0; i < 200; ++i) {
    said.push_back(static_cast<std::uint32_t>((random = random * 6364136223846793005u + 1) >> 61));
    sampler->accept(said.back());
    // All logits are positive, so the first token that is not seen wins, and the first of all where none is.
    std::uint32_t expected = 0;
    const auto last = said.end() - std::min<std::ptrdiff_t>(3, i + 1);
    while (std::find(last, said.end(), expected) != said.end()) ++expected;
    REQUIRE(sampler->sample(logits) == expected);
  }
}

TEST_CASE("a long memory of what was said costs no more a token than a short one", "[sampling]") {
  // Hours where each token moved or sorted all that are remembered.
  constexpr std::uint32_t kLast = 1'000'000;
  auto sampler = Sampler::create({.repeat_penalty = 2, .repeat_last = kLast});
  REQUIRE(sampler);
  for (std::uint32_t i = 0; i < 2 * kLast; ++i) sampler->accept(i < kLast ? 0 : 1 + i % 2);
  CHECK(sampler->sample(std::vector<float>{3, 4, 4}) == 0);
}

TEST_CASE("values outside their range are refused by name", "[sampling]") {
  CHECK(Sampler::create({.temperature = -1}).error().message ==
        "temperature is -1, must be at least 0 and finite");
  CHECK(Sampler::create({.top_p = 0}).error().message == "top-p is 0, must be above 0 and at most 1");
  CHECK(Sampler::create({.min_p = 2}).error().status == Status::arg);
  CHECK(Sampler::create({.repeat_penalty = 0}).error().status == Status::arg);
  CHECK(Sampler::create({.temperature = NAN}).error().status == Status::arg);
}
