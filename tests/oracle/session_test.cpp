#include "catch.hpp"
#include "folder.hpp"
#include "oracle/support.hpp"

#include <ml/generation.hpp>

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
