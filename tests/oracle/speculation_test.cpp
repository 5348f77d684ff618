#include "catch.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <ml/sampling.hpp>
#include <ml/speculation.hpp>

#include <filesystem>

using namespace ml;

namespace {

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("oracle")))
    names.push_back(entry.path().filename().string());
  return names;
}

// Guesses that are right for a while, then wrong, in a fixed pattern; for a source that knows the answer.
class Oracle : public DraftSource {
 public:
  explicit Oracle(std::vector<std::uint32_t> answer) : answer_(std::move(answer)) {}
  Result<std::vector<std::uint32_t>> propose(std::span<const std::uint32_t> tokens,
                                             std::uint32_t n) override {
    std::vector<std::uint32_t> draft;
    for (std::size_t at = tokens.size(); draft.size() < n && at < answer_.size(); ++at)
      draft.push_back(at % 7 == 3 ? (answer_[at] + 1) % 17 : answer_[at]);
    if (n_asked_++ % 5 == 4) draft.clear();
    return draft;
  }

 private:
  std::vector<std::uint32_t> answer_;
  std::size_t n_asked_ = 0;
};

class Broken : public DraftSource {
 public:
  Result<std::vector<std::uint32_t>> propose(std::span<const std::uint32_t>, std::uint32_t) override {
    return Error{.status = Status::nomem, .message = "no guess"};
  }
};

struct Written {
  std::vector<std::uint32_t> tokens;  // prompt and answer
  std::vector<float> logits;          // all rows
};

constexpr std::uint32_t kAnswer = 60;

template <class Step>
Written write(std::span<const std::uint32_t> prompt, std::span<const float> first,
              const SamplingOptions& sampling, Step&& step) {
  auto sampler = Sampler::create(sampling);
  Written written{{prompt.begin(), prompt.end()}, {first.begin(), first.end()}};
  std::span<const float> row = first;
  for (std::uint32_t i = 0; i < kAnswer; ++i) {
    const std::uint32_t token = sampler->sample(row);
    sampler->accept(token);
    written.tokens.push_back(token);
    const Result<std::span<const float>> next = step(token);
    REQUIRE(next);
    row = *next;
    written.logits.insert(written.logits.end(), row.begin(), row.end());
  }
  return written;
}

bool same(const Written& a, const Written& b) {
  return a.tokens == b.tokens && a.logits.size() == b.logits.size() &&
         std::memcmp(a.logits.data(), b.logits.data(), a.logits.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("guesses change no bit, for every family, drawn or not", "[runtime]") {
  std::uint64_t n_accepted = 0;
  std::uint64_t n_rejected = 0;
  for (const std::string& name : families()) {
    const Model model = open_model(data_path("oracle/" + name));
    auto tokens = Golden(data_path("oracle/" + name)).tokens;
    const auto prompt = std::span(tokens).first(12);
    for (const bool drawn : {false, true}) {
      const SamplingOptions sampling{.temperature = drawn ? 1.0f : 0.0f,
                                     .repeat_penalty = drawn ? 1.2f : 1.0f};
      // A batch that just suffices makes the smallest rings of windows.
      for (const std::uint32_t max_draft : {1u, 5u, 16u}) {
        INFO(name << " drawn " << drawn << " draft " << max_draft);
        const SessionOptions options{.ctx = 120,
                                     .batch = SpeculativeDecoder::kMaxAgain + max_draft + 1,
                                     .kv = drawn ? KvType::q8 : KvType::f16};
        auto plain = Session::create(model, options);
        REQUIRE(plain);
        const auto first = plain->eval(prompt);
        REQUIRE(first);
        const Written expected = write(prompt, std::vector<float>(first->begin(), first->end()), sampling,
                                       [&](std::uint32_t token) {
                                         return plain->eval({&token, 1});
                                       });

        Oracle oracle(expected.tokens);
        LookupDraft lookup;
        auto self = ModelDraft::create(model, options);
        REQUIRE(self);
        for (DraftSource* source : {static_cast<DraftSource*>(&oracle), static_cast<DraftSource*>(&lookup),
                                    static_cast<DraftSource*>(self->get())}) {
          auto session = Session::create(model, options);
          REQUIRE(session);
          const auto start = session->eval(prompt);
          REQUIRE(start);
          SpeculativeDecoder decoder(*session, *source, max_draft);
          const Written got = write(prompt, std::vector<float>(start->begin(), start->end()), sampling,
                                    [&](std::uint32_t token) { return decoder.eval(token); });
          CHECK(same(got, expected));
          CHECK(decoder.position() == expected.tokens.size());
          CHECK(decoder.n_passes() + decoder.n_accepted() == kAnswer);
          n_accepted += decoder.n_accepted();
          n_rejected += decoder.n_drafted() - decoder.n_accepted();
          // The session goes on as if nothing had been guessed.
          REQUIRE(decoder.finish());
          CHECK(std::equal(session->tokens().begin(), session->tokens().end(), expected.tokens.begin(),
                           expected.tokens.end()));
          const std::uint32_t next = 3;
          const auto after = session->eval({&next, 1});
          REQUIRE(after);
          const std::vector<float> row(after->begin(), after->end());
          auto reference = Session::create(model, options);
          REQUIRE(reference);
          REQUIRE(reference->eval(expected.tokens));
          const auto want = reference->eval({&next, 1});
          REQUIRE(want);
          CHECK(std::memcmp(row.data(), want->data(), want->size_bytes()) == 0);
          if (kSanitized) break;
        }
      }
    }
  }
  CHECK(n_accepted > 1000);
  CHECK(n_rejected > 1000);
}

TEST_CASE("a model that guesses for itself is always right, and saves passes", "[runtime]") {
  const Model model = open_model(data_path("oracle/mistral-sliding"));
  const std::vector<std::uint32_t> prompt{1, 5, 9, 2};
  const SessionOptions options{.ctx = 90, .batch = 32};
  auto session = Session::create(model, options);
  auto draft = ModelDraft::create(model, options);
  REQUIRE(session);
  REQUIRE(draft);
  const auto first = session->eval(prompt);
  REQUIRE(first);
  SpeculativeDecoder decoder(*session, **draft, 8);
  write(prompt, std::vector<float>(first->begin(), first->end()), {},
        [&](std::uint32_t token) { return decoder.eval(token); });
  CHECK(decoder.n_passes() < 10);
  CHECK(decoder.n_drafted() - decoder.n_accepted() <= 8);  // past the end
}

TEST_CASE("lookup takes the longest match, the latest of equal ones", "[runtime]") {
  LookupDraft lookup;
  const auto propose = [&](const std::vector<std::uint32_t>& tokens, std::uint32_t n) {
    return *lookup.propose(tokens, n);
  };
  using Ids = std::vector<std::uint32_t>;
  CHECK(propose({}, 4).empty());
  CHECK(propose({1}, 4).empty());
  CHECK(propose({1, 2, 3}, 4).empty());
  CHECK(propose({9, 2, 5, 7, 2}, 4).empty());  // one token is no match
  CHECK(propose({1, 2, 3, 4, 1, 2}, 2) == Ids{3, 4});
  CHECK(propose({1, 2, 3, 4, 1, 2}, 9) == Ids{3, 4, 1, 2, 3, 4});
  CHECK(propose({1, 2, 3, 8, 1, 2, 5, 8, 1, 2}, 1) == Ids{5});
  CHECK(propose({7, 1, 2, 3, 8, 9, 1, 2, 5, 7, 1, 2}, 2) == Ids{3, 8});
  CHECK(propose({4, 4, 4, 4}, 3) == Ids{4, 4, 4});
  CHECK(propose({5, 1, 2, 3, 1, 2, 3}, 5) == Ids{1, 2, 3, 1, 2});
}

TEST_CASE("rewinding is refused where it cannot be, and leaves the sequence", "[runtime]") {
  const Model windows = open_model(data_path("oracle/mistral-sliding"));
  auto session = Session::create(windows, {.ctx = 100, .batch = 4});
  REQUIRE(session);
  std::vector<std::uint32_t> tokens(60);
  for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = i % 31;
  REQUIRE(session->eval(std::span(tokens).first(20)));
  CHECK(session->rewind(19).error().status == Status::arg);  // no mark
  REQUIRE(session->mark());
  REQUIRE(session->eval(std::span(tokens).subspan(20, 10)));
  CHECK(session->rewind(31).error().status == Status::arg);
  CHECK(session->rewind(25).error().status == Status::limit);
  CHECK(session->position() == 30);
  CHECK(*session->rewind(30) == 30);
  CHECK(*session->rewind(27) == 27);
  CHECK(session->position() == 27);
  session->reset();
  REQUIRE(session->eval(std::span(tokens).first(20)));
  CHECK_FALSE(session->rewind(19));

  const Model linear = open_model(data_path("oracle/qwen35-hybrid"));
  auto states = Session::create(linear, {.ctx = 100});
  REQUIRE(states);
  REQUIRE(states->eval(std::span(tokens).first(20)));
  REQUIRE(states->mark());
  REQUIRE(states->eval(std::span(tokens).subspan(20, 10)));
  CHECK(*states->rewind(30) == 30);
  CHECK(*states->rewind(25) == 20);
  CHECK(states->position() == 20);
}

TEST_CASE("what a source cannot do is the step's error, and a full context too", "[runtime]") {
  const Model model = open_model(data_path("oracle/llama2-mha"));
  auto session = Session::create(model, {.ctx = 6, .batch = 32});
  REQUIRE(session);
  const std::uint32_t prompt[] = {1, 2, 3};
  REQUIRE(session->eval(prompt));
  Broken broken;
  SpeculativeDecoder failing(*session, broken, 4);
  CHECK(failing.eval(4).error().message == "no guess");
  LookupDraft lookup;
  SpeculativeDecoder decoder(*session, lookup, 4);
  for (const std::uint32_t token : {1u, 2u, 3u}) CHECK(decoder.eval(token));
  CHECK(decoder.eval(1).error().status == Status::limit);
  CHECK(decoder.eval(100000).error().status == Status::limit);
  CHECK(decoder.position() == 6);
}
