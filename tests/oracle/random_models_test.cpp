// Models nobody made: whatever the header says, all targets, threads, batches and cuts give the same bits.

#include "catch.hpp"
#include "folder.hpp"
#include "oracle/random_model.hpp"
#include "oracle/support.hpp"

#include <cstdlib>

using namespace ml;

namespace {

// Logits of all positions, the tokens given in parts of any size.
std::vector<float> run_in_cuts(const Model& model, const std::vector<std::uint32_t>& tokens,
                               const SessionOptions& options, std::mt19937_64& random) {
  auto session = Session::create(model, options);
  REQUIRE(session);
  std::vector<float> all;
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t n = 1 + random() % (tokens.size() - at);
    const auto done = session->eval(
        std::span(tokens).subspan(at, n),
        [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    REQUIRE(done);
    at += n;
  }
  return all;
}

}  // namespace

TEST_CASE("random models have the same bits on every target, with any threads, batch and cut", "[oracle]") {
  const char* more = std::getenv("ML_RANDOM_MODELS");
  const std::uint64_t n = more != nullptr ? std::strtoull(more, nullptr, 10) : kSanitized ? 20 : 150;
  const char* first = std::getenv("ML_RANDOM_FIRST");
  const std::uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  const TempFolder folder;
  std::uint64_t n_run = 0, n_finite = 0;
  for (std::uint64_t seed = begin; seed < begin + n; ++seed) {
    CAPTURE(seed);
    RandomMlb source(seed);
    const std::string file = source.draw();
    if (file.empty()) continue;
    folder.write("random.mlb", file);
    const auto model = Model::open(folder.file("random.mlb"));
    if (!model) {
      // The flags of a layer may ask for what the header does not have; nothing else may be wrong.
      CHECK_FALSE(model.error().message.empty());
      continue;
    }
    ++n_run;
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> tokens(1 + random() % 20);
    for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random() % model->desc().vocab);
    SessionOptions options{.ctx = 20, .batch = 1, .threads = 1, .target = Target::scalar};
    options.activations = random() % 2 == 0 ? Activations::q8 : Activations::f32;
    constexpr std::array kKv{KvType::f32, KvType::f16, KvType::q8, KvType::bf16};
    options.kv = kKv[random() % kKv.size()];
    const auto expected = logits_of(*model, tokens, options);
    REQUIRE(expected.size() == tokens.size() * model->desc().vocab);
    n_finite += std::all_of(expected.begin(), expected.end(), [](float x) { return std::isfinite(x); });
    for (const Target target : available_targets()) {
      options.target = target;
      options.batch = static_cast<std::uint32_t>(1 + random() % 20);
      options.threads = static_cast<unsigned>(1 + random() % 3);
      INFO(target_name(target) << " threads " << options.threads << " batch " << options.batch);
      const auto got = run_in_cuts(*model, tokens, options, random);
      CHECK(same_logits(got, expected));
    }
  }
  if (begin == 1 && n >= 20) {
    CHECK(n_run > n / 8);
    CHECK(n_finite > n_run / 2);
  }
}
