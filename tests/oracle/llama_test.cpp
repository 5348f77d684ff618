#include "catch.hpp"
#include "oracle/support.hpp"

using namespace ml;

namespace {

const char* const kModels[] = {"llama2-mha", "llama3-gqa-tied", "llama3-gqa-q4"};

// Prompt in one batch, then the greedy steps one by one: cache and prefill must both agree with the
// reference.
void check_against_golden(const Model& model, const Golden& golden) {
  const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
  CHECK(relative_error(logits_of(model, golden.tokens, options), golden.logits) < 1e-4);

  auto session = Session::create(model, options);
  REQUIRE(session);
  auto row = session->eval(golden.tokens);
  REQUIRE(row);
  std::vector<float> steps;
  for (const std::uint32_t expected : golden.greedy) {
    steps.insert(steps.end(), row->begin(), row->end());
    CHECK(argmax(*row) == expected);
    row = session->eval({&expected, 1});
    REQUIRE(row);
  }
  CHECK(relative_error(steps, golden.greedy_logits) < 1e-4);
}

}  // namespace

TEST_CASE("checkpoints of the Llama family give the reference's logits", "[oracle]") {
  for (const std::string name : kModels) {
    INFO(name);
    const std::string folder = data_path("oracle/" + name);
    const auto model = Model::open(folder);
    REQUIRE(model);
    check_against_golden(*model, Golden(folder));
  }
}

TEST_CASE("stories260K writes the reference's 200 tokens", "[oracle]") {
  const auto model = Model::open(data_path("models/stories260K"));
  REQUIRE(model);
  const auto golden = nlohmann::json::parse(read_file(data_path("models/stories260K/golden.json")));
  const auto prompt = golden.at("prompt_ids").get<std::vector<std::uint32_t>>();
  const auto expected = golden.at("greedy_200_ids").get<std::vector<std::uint32_t>>();
  auto session = Session::create(*model, {.activations = Activations::f32, .kv = KvType::f32});
  REQUIRE(session);
  auto row = session->eval(prompt);
  std::vector<std::uint32_t> ids;
  while (ids.size() < expected.size()) {
    REQUIRE(row);
    ids.push_back(argmax(*row));
    row = session->eval({&ids.back(), 1});
  }
  CHECK(ids == expected);
}
