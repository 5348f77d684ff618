#include "catch.hpp"
#include "evaluation/exp_double.hpp"

#include <ml/evaluation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ml;

namespace {

std::vector<float> logs(const std::vector<double>& probabilities, float shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + shift);
  return logits;
}

std::vector<float> random_logits(std::mt19937& random, std::size_t n, float scale) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> logits(n);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

}  // namespace

TEST_CASE("an exact sum rounds nothing, in any order", "[evaluation]") {
  ExactSum sum;
  for (const double x : {1e100, 1.0, -1e100, 0x1p-150, -3.5}) sum.add(x > 1e90 || x < -1e90 ? x / 1e60 : x);
  CHECK(sum.value() == -2.5);
  sum.add(2.5);
  CHECK(sum.value() == 0x1p-150);
  CHECK(sum.text() == "40000000000");
  CHECK(ExactSum().text() == "0");
  CHECK(ExactSum().value() == 0);

  std::mt19937 random(7);
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i) {
    const double x = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 160) - 100);
    numbers.push_back(random() % 2 == 0 ? x : -x);
  }
  ExactSum whole;
  for (const double x : numbers) whole.add(x);
  std::shuffle(numbers.begin(), numbers.end(), random);
  ExactSum left;
  ExactSum right;
  for (std::size_t i = 0; i < numbers.size(); ++i) (i % 3 == 0 ? left : right).add(numbers[i]);
  right.add(left);
  CHECK(right.text() == whole.text());
  CHECK(right.value() == whole.value());
  CHECK(ExactSum::parse(whole.text())->text() == whole.text());
  for (const double x : numbers) whole.add(-x);
  CHECK(whole.text() == "0");

  ExactSum negative;
  negative.add(-1);
  CHECK(negative.text() == "-1" + std::string(48, '0'));
  CHECK(ExactSum::parse(negative.text())->value() == -1);
  ExactSum huge;
  huge.add(1e300);
  CHECK(huge.value() == 0x1p150);
  ExactSum tiny;
  tiny.add(0x1p-1060);
  CHECK(tiny.text() == "0");
  for (const char* text : {"", "-", "x", "1 ", "0x1", "FF"}) CHECK_FALSE(ExactSum::parse(text));
  CHECK_FALSE(ExactSum::parse(std::string(96, '1')));
  CHECK(ExactSum::parse(std::string(95, 'f')));
  ExactSum over = *ExactSum::parse(std::string(95, 'f'));
  CHECK(over.fits());
  for (int i = 1; i < 32; ++i) over.add(*ExactSum::parse(std::string(95, 'f')));
  CHECK_FALSE(over.fits());
  CHECK(over.text() == "1" + std::string(94, 'f') + "e0");
  CHECK(over.value() == 0x1p193);
}

TEST_CASE("e^x below 0 is within 2 units of the last place", "[evaluation]") {
  CHECK(exp_of_negative(0) == 1);
  CHECK(exp_of_negative(-701) == 0);
  CHECK(exp_of_negative(-INFINITY) == 0);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = -700.0 * i / 200000 + (i % 7) * 1e-7 - 1e-6;
    const long double exact = std::exp(static_cast<long double>(x));
    const double got = exp_of_negative(x);
    const double ulp = std::nextafter(got, 1.0) - got;
    worst = std::max(worst, std::fabs(static_cast<double>((got - exact) / ulp)));
  }
  CHECK(worst < 2);
}

TEST_CASE("a token's score is what its probability says", "[evaluation]") {
  const auto logits = logs({0.5, 0.25, 0.125, 0.0625, 0.0625}, 7.0f);
  const auto score = score_token(logits, 1);
  REQUIRE(score);
  CHECK(score->nll == Approx(std::log(4.0)).epsilon(1e-6));
  CHECK(score->log_sum == Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(score->max == logits[0]);
  CHECK(score->top == std::array<std::uint32_t, 5>{0, 1, 2, 3, 4});
  // Equal logits: the smaller ids first; a vocabulary smaller than five leaves places empty.
  CHECK(score_token(std::vector<float>(9, 1.0f), 3)->top == std::array<std::uint32_t, 5>{0, 1, 2, 3, 4});
  CHECK(score_token(std::vector<float>{1, 2}, 0)->top ==
        std::array<std::uint32_t, 5>{1, 0, kNoTop, kNoTop, kNoTop});
  CHECK(score_token(std::vector<float>{1, 5, 2, 9, 4, 7, 5}, 0)->top ==
        std::array<std::uint32_t, 5>{3, 5, 1, 6, 4});
  CHECK(score_token(std::vector<float>{3}, 0)->nll == 0);
  // Far apart: no overflow, and no probability of zero.
  CHECK(score_token(std::vector<float>{0, 30000}, 0)->nll == 30000);
  const auto bad = score_token(std::vector<float>{0, 1, NAN, 2}, 0);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message == "logit of token 2 is NaN, must be finite: the weights are not sound");
  CHECK_FALSE(score_token(std::vector<float>{0, INFINITY}, 0));
}

TEST_CASE("divergences are those computed by hand and in long double", "[evaluation]") {
  // p = (1/2, 1/4, 1/4), q = (1/4, 1/4, 1/2): 1/2 log 2 + 0 - 1/4 log 2.
  const auto p = logs({0.5, 0.25, 0.25}, 0);
  const auto q = logs({0.25, 0.25, 0.5}, -3);
  CHECK(kl_divergence(p, q, *score_token(q, 0)) == Approx(0.25 * std::log(2.0)).epsilon(1e-6));
  CHECK(kl_divergence(p, p, *score_token(p, 2)) == 0);

  std::mt19937 random(1);
  for (const std::size_t n : {1u, 7u, 8u, 9u, 500u, 32000u}) {
    const auto base = random_logits(random, n, 4);
    for (const float noise : {0.001f, 0.1f, 3.0f}) {
      auto other = base;
      const auto delta = random_logits(random, n, noise);
      for (std::size_t i = 0; i < n; ++i) other[i] += delta[i] + 11.0f;
      long double base_sum = 0;
      long double other_sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        base_sum += std::exp(static_cast<long double>(base[i]));
        other_sum += std::exp(static_cast<long double>(other[i]));
      }
      long double exact = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const long double log_p = base[i] - std::log(base_sum);
        exact += std::exp(log_p) * (log_p - (other[i] - std::log(other_sum)));
      }
      const double got = kl_divergence(base, other, *score_token(other, 0));
      CHECK(std::fabs(got - static_cast<double>(exact)) < 1e-13);
      CHECK(kl_divergence(other, other, *score_token(other, 0)) == 0);
    }
  }
}

TEST_CASE("windows score every token but the first once", "[evaluation]") {
  for (const std::uint64_t n : {2u, 3u, 9u, 10u, 11u, 40u, 41u}) {
    for (const std::uint32_t ctx : {1u, 4u, 10u, 64u}) {
      for (std::uint32_t stride = 1; stride <= ctx; ++stride) {
        const EvaluationWindows windows(n, ctx, stride);
        std::uint64_t next = 1;
        for (std::uint64_t i = 0; i < windows.size(); ++i) {
          const EvaluationWindow window = windows[i];
          INFO(n << " tokens, ctx " << ctx << ", stride " << stride << ", window " << i);
          REQUIRE(window.n_inputs >= 1);
          REQUIRE(window.n_inputs <= ctx);
          REQUIRE(window.first_scored < window.n_inputs);
          CHECK(window.begin + window.first_scored + 1 == next);
          next = window.begin + window.n_inputs + 1;
        }
        CHECK(next == n);
      }
    }
  }
}

TEST_CASE("sums give means, errors, quantiles and agreement computed by hand", "[evaluation]") {
  EvaluationSums sums;
  const auto score = [](double nll, std::array<std::uint32_t, 5> top) {
    TokenScore result;
    result.nll = nll;
    result.top = top;
    return result;
  };
  sums.add(0, score(1, {1, 2, 3, 4, 5}), score(2, {1, 2, 3, 4, 5}), 0.5);
  sums.add(1, score(2, {1, 2, 3, 4, 5}), score(2, {2, 1, 9, 8, 7}), 0.25);
  sums.add(2, score(3, {6, 7, 8, 9, 10}), score(1, {1, 2, 3, 4, 5}), 0);
  sums.add(700, score(6, {1, 2, 3, 4, 5}), score(3, {1, 2, 3, 4, 9}), 0.25);
  CHECK(sums.n_tokens() == 4);
  CHECK(sums.nll().mean == 3);
  CHECK(sums.nll().error == Approx(std::sqrt((4 + 1 + 0 + 9) / 3.0 / 4.0)));
  CHECK(sums.perplexity().mean == Approx(std::exp(3.0)));
  CHECK(sums.perplexity().error == Approx(std::exp(3.0) * sums.nll().error));
  CHECK(sums.base_perplexity().mean == Approx(std::exp(2.0)));
  CHECK(sums.perplexity_ratio().mean == Approx(std::exp(1.0)));  // differences -1, 0, 2, 3
  CHECK(sums.perplexity_ratio().error == Approx(std::exp(1.0) * std::sqrt((4 + 1 + 1 + 4) / 3.0 / 4.0)));
  CHECK(sums.kl().mean == 0.25);
  CHECK(sums.kl_max() == 0.5);
  CHECK(sums.kl_quantile(0.25) == 0);
  CHECK(sums.kl_quantile(0.5) == Approx(0.25).epsilon(0.004));
  CHECK(sums.kl_quantile(0.75) == Approx(0.25).epsilon(0.004));
  CHECK(sums.kl_quantile(1) == 0.5);
  CHECK(sums.top_agreement().mean == 0.5);
  CHECK(sums.top_agreement().error == Approx(0.25));
  CHECK(sums.top5_agreement().mean == Approx((1 + 0.4 + 0 + 0.8) / 4));
  const double changes[] = {std::exp(-1.0) - std::exp(-2.0), 0, std::exp(-3.0) - std::exp(-1.0),
                            std::exp(-6.0) - std::exp(-3.0)};
  double sum = 0;
  double squares = 0;
  for (const double change : changes) {
    sum += change;
    squares += change * change;
  }
  CHECK(sums.probability_change().mean == Approx(sum / 4));
  CHECK(sums.probability_change_rms() == Approx(std::sqrt(squares / 4)));
  CHECK(sums.positions()[0].n_tokens == 2);
  CHECK(sums.positions()[1].n_tokens == 1);
  CHECK(sums.positions()[9].n_tokens == 1);
  CHECK(sums.positions()[9].n_same_top == 1);
  CHECK(sums.positions()[9].nll.value() == 6);
}

TEST_CASE("a perplexity that no double holds is infinite", "[evaluation]") {
  const auto mean_of = [](std::initializer_list<double> nlls) {
    EvaluationSums sums;
    TokenScore score;
    for (const double nll : nlls) {
      score.nll = nll;
      sums.add(0, score);
    }
    return sums.perplexity();
  };
  CHECK(mean_of({650}).mean == Approx(std::exp(650.0)));
  CHECK(mean_of({705}).mean == Approx(std::exp(705.0)));
  CHECK(mean_of({705}).error == 0);
  for (const double nll : {710.0, 895.0, 1401.0, 1e20}) {
    CHECK(std::isinf(mean_of({nll}).mean));
    CHECK(mean_of({nll}).error == 0);
    CHECK(std::isinf(mean_of({nll, 2 * nll}).error));
  }
  EvaluationSums better;  // than a base that is as bad
  TokenScore good, bad;
  bad.nll = 895;
  better.add(0, good, bad, 1);
  CHECK(better.perplexity_ratio().mean == 0);
  CHECK(std::isinf(better.base_perplexity().mean));
}

TEST_CASE("parts join to the whole in any order, also through JSON", "[evaluation]") {
  std::mt19937 random(3);
  EvaluationSums whole;
  EvaluationSums parts[3];
  for (std::uint32_t i = 0; i < 300; ++i) {
    const auto base = random_logits(random, 50, 3);
    const auto other = random_logits(random, 50, 3);
    const auto score = *score_token(other, i % 50);
    const auto base_score = *score_token(base, i % 50);
    const double kl = kl_divergence(base, other, score);
    whole.add(i, score, base_score, kl);
    parts[random() % 3].add(i, score, base_score, kl);
  }
  EvaluationSums joined;
  for (const int i : {2, 0, 1}) {
    auto part = EvaluationSums::parse(parts[i].to_json());
    REQUIRE(part);
    REQUIRE(joined.merge(*part));
  }
  CHECK(joined.to_json() == whole.to_json());
  CHECK(joined.kl().mean == whole.kl().mean);
  CHECK(joined.kl_quantile(0.99) == whole.kl_quantile(0.99));

  EvaluationSums plain;
  plain.add(0, *score_token(std::vector<float>{1, 2}, 0));
  CHECK(joined.merge(plain).error().status == Status::arg);
  REQUIRE(plain.merge(*EvaluationSums::parse(plain.to_json())));
  CHECK(plain.n_tokens() == 2);

  const auto claimed = EvaluationSums::parse(
      fmt::format(R"({{"version":1,"n_tokens":{0},"nll":["1","1"],"positions":[[0,{0},"1",0,"0"]]}})",
                  EvaluationSums::kMaxTokens - 2));
  REQUIRE(claimed);
  EvaluationSums most = *claimed;
  REQUIRE(most.merge(plain));
  CHECK(most.merge(plain).error().status == Status::limit);
  CHECK(most.n_tokens() == EvaluationSums::kMaxTokens);

  const auto huge = EvaluationSums::parse(
      fmt::format(R"({{"version":1,"n_tokens":1,"nll":["1","{}"],"positions":[[0,1,"1",0,"0"]]}})",
                  std::string(95, 'f')));
  REQUIRE(huge);
  EvaluationSums twice = *huge;
  const auto refused = twice.merge(*huge);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::limit);
  CHECK(refused.error().message.starts_with("a sum of the results together is 2^188 or more"));
  CHECK(twice.to_json() == huge->to_json());
}

TEST_CASE("sums that are no sums are refused by their key", "[evaluation]") {
  const auto message = [](const std::string& json) {
    const auto sums = EvaluationSums::parse(json);
    return sums ? std::string() : sums.error().message;
  };
  CHECK(message("[]") == "sums: they must be an object");
  CHECK(message("{}") == "sums: version must be there");
  CHECK(message(R"({"version":2})") == "sums: version must be 1");
  CHECK(message(R"({"version":1,"n_tokens":-1})").find("n_tokens must be a whole number") !=
        std::string::npos);
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1"]})") == "sums: nll must be a list of two sums");
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1","x"]})").find("hexadecimal") != std::string::npos);
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1","1"],"positions":[]})") ==
        "sums: positions must be of n_tokens tokens");
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1","1"],"positions":[[40,1,"1",0,"0"]]})")
            .find("positions must be a whole number of at most 31") != std::string::npos);
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["-1","1"],"positions":[]})") ==
        "sums: nll must be sums of at least 0");
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1","1"],"positions":[[0,1,"-1",0,"0"]]})") ==
        "sums: positions must be sums of at least 0");
  CHECK(message(R"({"version":1,"n_tokens":1,"nll":["1","1"],"positions":[[0,1,"1",0,"0"]],)"
                R"("base_nll":["1","1"],"log_ratio":["-1","-1"],"kl":["1","1"]})") ==
        "sums: log_ratio must be sums of at least 0");
}
