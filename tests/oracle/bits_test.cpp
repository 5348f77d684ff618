#include "catch.hpp"
#include "oracle/support.hpp"

#include <filesystem>

using namespace ml;

namespace {

// A prompt longer than two key blocks, so that cuts fall inside and between them.
std::vector<std::uint32_t> long_prompt(std::uint32_t vocab) {
  std::vector<std::uint32_t> tokens(150);
  for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = (i * i * 31 + 7 * i + 1) % vocab;
  return tokens;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a batch whose activations are worth threads has the same bits", "[oracle]") {
  const auto model = Model::open(data_path("oracle/llama2-mha"));
  REQUIRE(model);
  std::vector<std::uint32_t> tokens(500);
  for (std::uint32_t i = 0; i < tokens.size(); ++i)
    tokens[i] = (i * i * 31 + 7 * i + 1) % model->desc().vocab;
  SessionOptions options{.ctx = 512, .batch = 512, .threads = 1};
  const auto expected = logits_of(*model, tokens, options);
  options.threads = 3;
  CHECK(same_bits(logits_of(*model, tokens, options), expected));
}

TEST_CASE("every family has the same bits on every target, with any threads, batch and cut", "[oracle]") {
  for (const auto& entry : std::filesystem::directory_iterator(data_path("oracle"))) {
    const auto model = Model::open(entry.path().string());
    REQUIRE(model);
    const auto tokens = Golden(entry.path().string()).tokens;
    for (const KvType kv : {KvType::f32, KvType::f16, KvType::q8}) {
      SessionOptions options{.ctx = 64, .kv = kv, .threads = 1, .target = Target::scalar};
      const auto expected = logits_of(*model, tokens, options);
      REQUIRE(expected.size() == tokens.size() * model->desc().vocab);
      for (const Target target : available_targets()) {
        options.target = target;
        for (const unsigned threads : {1u, 3u}) {
          options.threads = threads;
          for (const std::uint32_t batch : {1u, 2u, 3u, 17u, 512u}) {
            if (kSanitized && batch != 17) continue;
            options.batch = batch;
            INFO(entry.path() << " " << target_name(target) << " threads " << threads << " batch " << batch);
            CHECK(same_bits(logits_of(*model, tokens, options), expected));
          }
        }
      }
      const std::uint64_t vocab = model->desc().vocab;
      const std::vector<float> last(expected.end() - static_cast<std::ptrdiff_t>(vocab), expected.end());
      options.batch = 512;
      options.threads = 1;
      auto session = Session::create(*model, options);
      REQUIRE(session);
      for (std::size_t cut = 1; cut < tokens.size(); cut += kSanitized ? 9 : 1) {
        session->reset();
        REQUIRE(session->eval(std::span(tokens).first(cut)));
        std::vector<float> row;
        for (std::size_t i = cut; i < tokens.size(); ++i) {
          const auto logits = session->eval({&tokens[i], 1});
          REQUIRE(logits);
          row.assign(logits->begin(), logits->end());
        }
        CHECK(same_bits(row, last));
      }
    }
  }
}

TEST_CASE("logits have the same bits on every target, with any threads and any batch", "[oracle]") {
  for (const std::string name : {"models/stories260K", "oracle/llama3-gqa-tied", "oracle/llama2-mha"}) {
    const auto model = Model::open(data_path(name));
    REQUIRE(model);
    const auto tokens = long_prompt(model->desc().vocab);
    for (const KvType kv : {KvType::f32, KvType::f16}) {
      for (const Activations activations : {Activations::q8, Activations::f32}) {
        SessionOptions options{
            .ctx = 160, .activations = activations, .kv = kv, .threads = 1, .target = Target::scalar};
        const auto expected = logits_of(*model, tokens, options);
        REQUIRE(expected.size() == tokens.size() * model->desc().vocab);
        for (const Target target : available_targets()) {
          options.target = target;
          for (const unsigned threads : {1u, 2u, 3u, 7u}) {
            options.threads = threads;
            for (const std::uint32_t batch : {1u, 2u, 3u, 17u, 512u}) {
              if (threads != 1 && batch != 1 && batch != 512) continue;
              if (kSanitized && (threads != 3 || batch != 1)) continue;
              options.batch = batch;
              INFO(name << " " << target_name(target) << " threads " << threads << " batch " << batch);
              CHECK(same_bits(logits_of(*model, tokens, options), expected));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a prompt cut anywhere gives the same bits", "[oracle]") {
  const auto model = Model::open(data_path("models/stories260K"));
  REQUIRE(model);
  const auto tokens = long_prompt(512);
  auto session = Session::create(*model, {.ctx = 160});
  REQUIRE(session);
  const auto whole = session->eval(tokens);
  REQUIRE(whole);
  const std::vector<float> expected(whole->begin(), whole->end());
  for (std::size_t cut = 1; cut < tokens.size(); cut += 7) {
    session->reset();
    REQUIRE(session->eval(std::span(tokens).first(cut)));
    const auto rest = session->eval(std::span(tokens).subspan(cut));
    REQUIRE(rest);
    CHECK(same_bits({rest->begin(), rest->end()}, expected));
  }
}

TEST_CASE("what a session cannot do is an error that says so", "[runtime]") {
  const auto model = Model::open(data_path("models/stories260K"));
  REQUIRE(model);
  CHECK(Session::create(*model, {.ctx = 513}).error().status == Status::limit);
  auto session = Session::create(*model, {.ctx = 4});
  REQUIRE(session);
  const std::uint32_t tokens[] = {1, 2, 3, 4, 5};
  CHECK(session->eval(tokens).error().message == "5 tokens after 0 do not fit into a context of 4");
  const std::uint32_t bad[] = {512};
  CHECK(session->eval(bad).error().message == "token is 512, must be below the vocabulary of 512");
  CHECK(session->eval(std::span<const std::uint32_t>()).error().status == Status::arg);
  CHECK(session->position() == 0);
}
