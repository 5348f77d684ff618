#include "catch.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <ml/multi_session.hpp>

using namespace ml;

TEST_CASE("sequences that run together have the bits that they have alone", "[runtime]") {
  for (const std::string name : {"llama3-gqa-tied", "gemma3-text", "qwen35-hybrid"}) {
    const Model model = open_model(data_path("oracle/" + name));
    const auto tokens = Golden(data_path("oracle/" + name)).tokens;
    for (const std::uint32_t batch : {1u, 5u, 64u}) {
      INFO(name << " batch " << batch);
      const SessionOptions options{.ctx = 64, .batch = batch};
      auto together = MultiSession::create(model, options, 3);
      REQUIRE(together);
      std::vector<Session> alone;
      for (int i = 0; i < 3; ++i) alone.push_back(std::move(*Session::create(model, options)));

      // Prompts of different lengths, then steps; sequence 1 leaves for a while and starts anew.
      const std::vector<std::vector<MultiSession::Input>> rounds{
          {{0, std::span(tokens).first(11)},
           {1, std::span(tokens).subspan(3, 1)},
           {2, std::span(tokens).first(20)}},
          {{2, std::span(tokens).subspan(20, 1)}, {0, std::span(tokens).subspan(11, 1)}},
          {{1, std::span(tokens).subspan(4, 9)}, {2, std::span(tokens).subspan(21, 3)}},
          {{0, std::span(tokens).subspan(12, 1)},
           {1, std::span(tokens).subspan(13, 1)},
           {2, std::span(tokens).subspan(24, 1)}},
      };
      for (std::size_t round = 0; round < rounds.size(); ++round) {
        if (round == 2) {
          together->reset(1);
          alone[1].reset();
        }
        const auto logits = together->eval(rounds[round]);
        REQUIRE(logits);
        for (std::size_t i = 0; i < rounds[round].size(); ++i) {
          const auto& input = rounds[round][i];
          const auto expected = alone[input.sequence].eval(input.tokens);
          REQUIRE(expected);
          CHECK(std::memcmp((*logits)[i].data(), expected->data(), expected->size_bytes()) == 0);
          CHECK(together->position(input.sequence) == alone[input.sequence].position());
        }
      }
    }
  }
}

TEST_CASE("inputs that cannot be are refused before anything runs", "[runtime]") {
  const Model model = open_model(data_path("oracle/llama2-mha"));
  CHECK(MultiSession::create(model, {}, 0).error().status == Status::arg);
  auto session = MultiSession::create(model, {.ctx = 4}, 2);
  REQUIRE(session);
  const std::uint32_t tokens[] = {1, 2, 3, 4, 5};
  const std::vector<MultiSession::Input> cases[] = {
      {{2, std::span(tokens).first(1)}},
      {{0, std::span(tokens).first(1)}, {0, std::span(tokens).first(1)}},
      {{0, std::span(tokens).first(1)}, {1, tokens}},
      {{0, std::span<const std::uint32_t>()}},
  };
  for (const auto& inputs : cases) CHECK_FALSE(session->eval(inputs));
  CHECK(session->position(0) == 0);
}
