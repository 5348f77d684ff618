#include "catch.hpp"
#include "folder.hpp"
#include "oracle/support.hpp"
#include "patched.hpp"

#include <ml/generation.hpp>

#include "runtime/session_file.hpp"

#include <xxhash.h>

#include <cstring>
#include <optional>

using namespace ml;

namespace {

std::string saved(const Session& session, const std::vector<std::uint32_t>& pending) {
  const TempFolder folder;
  auto out = OutputFile::create(folder.file("session"), {});
  REQUIRE(out);
  REQUIRE(session.save(*out, pending));
  REQUIRE(out->commit());
  return read_file(folder.file("session"));
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("a restored session goes on with the same bits, for every family and cache", "[runtime]") {
  for (const std::string name : {"llama3-gqa-tied", "mistral-sliding", "gemma3-text", "qwen35-hybrid"}) {
    const auto model = Model::open(data_path("oracle/" + name));
    REQUIRE(model);
    const auto tokens = Golden(data_path("oracle/" + name)).tokens;
    for (const KvType kv : {KvType::f32, KvType::f16, KvType::q8}) {
      INFO(name << " kv " << static_cast<int>(kv));
      auto first = Session::create(*model, {.ctx = 48, .batch = 7, .kv = kv});
      REQUIRE(first);
      REQUIRE(first->eval(std::span(tokens).first(30)));
      const std::string file = saved(*first, {tokens[30]});
      CHECK(*Session::saved_tokens(bytes_of(file)) == 31);
      const auto expected = first->eval(std::span(tokens).subspan(30));
      REQUIRE(expected);

      auto second = Session::create(*model, {.ctx = 100, .batch = 3, .kv = kv});
      REQUIRE(second);
      const auto pending = second->restore(bytes_of(file));
      REQUIRE(pending);
      CHECK(*pending == std::vector<std::uint32_t>{tokens[30]});
      CHECK(second->position() == 30);
      const auto got = second->eval(std::span(tokens).subspan(30));
      REQUIRE(got);
      CHECK(std::memcmp(got->data(), expected->data(), got->size_bytes()) == 0);
    }
  }
}

TEST_CASE("every truncation and every changed byte of a session file is refused", "[runtime]") {
  const auto model = Model::open(data_path("oracle/qwen35-hybrid"));
  REQUIRE(model);
  auto session = Session::create(*model, {.ctx = 8});
  REQUIRE(session);
  const std::uint32_t tokens[] = {1, 2, 3};
  REQUIRE(session->eval(tokens));
  const std::string file = saved(*session, {});
  REQUIRE(session->restore(bytes_of(file)));
  for (std::size_t n = 0; n < file.size(); n += n < 200 ? 1 : 97) {
    CHECK(session->restore(bytes_of(file.substr(0, n))).error().status == Status::format);
    std::string changed = file;
    changed[n] = static_cast<char>(changed[n] ^ 0x40);
    CHECK(session->restore(bytes_of(changed)).error().status == Status::format);
  }
  CHECK(session->position() == 3);
}

TEST_CASE("end-of-text tokens come from the folder, as a number or a list", "[convert]") {
  CHECK(*end_tokens(data_path("models/stories260K")) == std::vector<std::uint32_t>{2});
  CHECK(*end_tokens(data_path("oracle/gemma3-text")) == std::vector<std::uint32_t>{1, 106});
  CHECK(end_tokens("/nonexistent")->empty());
}

TEST_CASE("a session is refused by a model that differs in how it computes alone", "[runtime]") {
  const auto model = Model::open(data_path("oracle/llama3-gqa-tied"));
  REQUIRE(model);
  const std::vector<Tensor> tensors(model->tensors().begin(), model->tensors().end());
  const auto fingerprint_with = [&](const auto& change) {
    ModelDesc desc = model->desc();
    change(desc);
    const auto changed = Model::assemble(std::move(desc), tensors, {});
    REQUIRE(changed);
    return model_fingerprint(*changed);
  };
  const std::uint64_t own = model_fingerprint(*model);
  CHECK(fingerprint_with([](ModelDesc&) {}) == own);
  CHECK(fingerprint_with([](ModelDesc& desc) { desc.norm_groups = 2; }) != own);
  CHECK(fingerprint_with([](ModelDesc& desc) { desc.gate_function = GateFunction::softplus; }) != own);
  // No result depends on it, and what a session holds is compared with the context.
  CHECK(fingerprint_with([](ModelDesc& desc) { --desc.max_seq; }) == own);
}

namespace {

// With a check that is right, as whoever means harm writes it.
std::string sealed(const std::string& bytes) {
  return patched(bytes, bytes.size() - 8, XXH3_64bits(bytes.data(), bytes.size() - 8));
}

}  // namespace

TEST_CASE("every rule of a session file has its message where the check is right", "[runtime]") {
  const auto model = Model::open(data_path("oracle/llama3-gqa-tied"));
  REQUIRE(model);
  auto session = Session::create(*model, {.ctx = 8, .kv = KvType::f32});
  REQUIRE(session);
  REQUIRE(session->eval(std::vector<std::uint32_t>{1, 2, 3}));
  const std::string file = saved(*session, {4});
  const std::uint32_t vocab = model->desc().vocab;
  struct Row {
    std::string bytes;
    Status status;
    std::optional<std::uint64_t> at;
    std::string message;
  };
  const auto size = std::to_string(file.size());
  const std::vector<Row> rows{
      {std::string(39, 'M'), Status::format, 39, "file is 39 bytes, a session needs at least 40"},
      {patched(file, 3, '2'), Status::format, 0, "magic must be MLS1"},
      {patched(file, 4, 0u), Status::format, 4, "version is 0, must be 1"},
      {patched(file, 4, 0xffffffffu), Status::format, 4, "version is 4294967295, must be 1"},
      {file + "x", Status::format, file.size() - 7,
       "checksum does not match: the file is damaged or incomplete"},
      {sealed(patched(file, 8, std::uint64_t(0))),
       Status::arg,
       {},
       "the session was saved with another model"},
      {sealed(patched(file, 16, 1u)),
       Status::arg,
       {},
       "the session was saved with another type of KV cache (--kv)"},
      {sealed(patched(file, 16, 5u)),
       Status::arg,
       {},
       "the session was saved with another type of KV cache (--kv)"},
      {sealed(patched(file, 16, 6u)), Status::format, 16, "KV type is 6, must be at most 5"},
      {sealed(patched(file, 20, 2u)), Status::format, 20, "activations are 2, must be 0 or 1"},
      {sealed(patched(file, 20, 1u)),
       Status::arg,
       {},
       "the session was saved with another kind of activations (--acts)"},
      {sealed(patched(file, 24, 5u)), Status::format, 24, "positions are 5, must be at most the 4 tokens"},
      {sealed(patched(file, 28, 2u)), Status::format, 24, "positions are 3, must be at most the 2 tokens"},
      {sealed(patched(patched(file, 24, 9u), 28, 9u)),
       Status::limit,
       {},
       "the session holds 9 positions, the context 8"},
      {sealed(patched(file, 28, 5u)), Status::format, file.size(),
       "file is " + size + " bytes, 3 positions of this model need " + std::to_string(file.size() + 4)},
      {sealed(patched(file, 28, ~0u)), Status::format, 28,
       "tokens are 4294967295, the file has room for " + std::to_string((file.size() - 40) / 4)},
      {sealed(file + std::string(4, 'x')), Status::format, file.size(),
       "file is " + std::to_string(file.size() + 4) + " bytes, 3 positions of this model need " + size},
      {sealed(patched(file, 32, vocab)), Status::format, 32,
       "token 0 is " + std::to_string(vocab) + ", must be below the vocabulary of " + std::to_string(vocab)},
      {sealed(patched(file, 44, ~0u)), Status::format, 44,
       "token 3 is 4294967295, must be below the vocabulary of " + std::to_string(vocab)},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const auto restored = session->restore(bytes_of(row.bytes));
    REQUIRE_FALSE(restored);
    CHECK(restored.error().message == row.message);
    CHECK(restored.error().status == row.status);
    CHECK(restored.error().offset == row.at);
    CHECK(session->position() == 3);
  }
  CHECK(session->restore(bytes_of(file)));
}
