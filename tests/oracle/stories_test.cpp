#include "catch.hpp"
#include "oracle/support.hpp"

using namespace ml;

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
