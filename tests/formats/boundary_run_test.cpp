// The same of files that a model runs on: each value in a GGUF file's metadata and directory (whose
// vocabulary is that of the embedding), and each field of a saved session. What is opened runs, or refuses
// to.

#include "boundary.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "runtime/session_file.hpp"

#include <ml/session.hpp>

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <span>

using namespace ml;
using namespace boundary;

namespace {

constexpr std::array<std::uint32_t, 3> kTokens{1, 2, 3};

// Where the numbers of a sound GGUF file lie. One that is a value of the metadata is called as its key.
class GgufNumbers {
 public:
  explicit GgufNumbers(const std::string& file) : file_(file) {
    add("u32", "magic");
    add("u32", "version");
    const std::uint64_t n_tensors = add("u64", "tensors");
    const std::uint64_t n_values = add("u64", "values");
    for (std::uint64_t i = 0; i < n_values; ++i) {
      const std::string key = text("key's length");
      value(add("u32", "type of " + key), key);
    }
    for (std::uint64_t i = 0; i < n_tensors; ++i) {
      text("tensor name's length");
      const std::uint64_t n_dims = add("u32", "dimensions");
      for (std::uint64_t d = 0; d < n_dims; ++d) add("u64", "dimension");
      add("u32", "tensor's type");
      add("u64", "tensor's offset");
      if (i == 3) break;  // the others lie in the same way
    }
  }

  std::vector<Field> fields;

 private:
  std::uint64_t add(const std::string& type, const std::string& name) {
    const std::size_t n_bytes = std::stoul(type.substr(1)) / 8;
    fields.push_back({at_, type, name});
    std::uint64_t value = 0;
    std::memcpy(&value, file_.data() + at_, n_bytes);
    at_ += n_bytes;
    return value;
  }
  std::string text(const std::string& name) {
    const std::uint64_t n_bytes = add("u64", name);
    at_ += n_bytes;
    return file_.substr(at_ - n_bytes, n_bytes);
  }
  void value(std::uint64_t type, const std::string& key) {
    static const std::array<const char*, 13> kTypes{"u8", "u8", "u16", "u16", "u32", "i32", "f32",
                                                    "u8", "",   "",    "u64", "u64", "f64"};
    if (type == 8) {
      text("length of " + key);
    } else if (type == 9) {
      const std::uint64_t element = add("u32", "element type of " + key);
      const std::uint64_t n = add("u64", "elements of " + key);
      for (std::uint64_t i = 0; i < n; ++i) value(element, key);
    } else {
      add(kTypes.at(type), key);
    }
  }

  const std::string& file_;
  std::uint64_t at_ = 0;
};

std::optional<Error> run_error(const std::string& path) {
  const auto model = Model::open(path);
  if (!model) return model.error();
  auto session = Session::create(*model, {.ctx = 4, .threads = 1});
  if (!session) return session.error();
  return error_of(session->eval(kTokens));
}

Format gguf(const TempFolder& folder, const std::string& name, std::set<std::string> free) {
  const std::string file = read_file(gguf_path(name));
  return {name, file, GgufNumbers(file).fields, std::move(free), [&folder](const std::string& bytes) {
            folder.write("changed.gguf", bytes);
            return run_error(folder.file("changed.gguf"));
          }};
}

}  // namespace

TEST_CASE("every number of a GGUF file at the bounds of its type", "[formats]") {
  const TempFolder folder;
  check_fields(gguf(folder, "llama2-mha-q8_0.gguf", {"llama.vocab_size"}));
  check_fields(
      gguf(folder, "qwen35-hybrid-f16.gguf", {"qwen35.vocab_size", "qwen35.rope.dimension_sections"}));
}

TEST_CASE("every field of a session file at the bounds of its type", "[formats][runtime]") {
  const TempFolder folder;
  const auto model = Model::open(data_path("oracle/llama2-mha"));
  REQUIRE(model);
  auto session = Session::create(*model, {.ctx = 8, .threads = 1});
  REQUIRE(session);
  REQUIRE(session->eval(kTokens));
  auto out = OutputFile::create(folder.file("session"), {});
  REQUIRE(out);
  REQUIRE(session->save(*out, kTokens));
  REQUIRE(out->commit());
  const std::vector<Field> fields{{offsetof(SessionHeader, magic), "bytes", "magic"},
                                  {offsetof(SessionHeader, version), "u32", "version"},
                                  {offsetof(SessionHeader, fingerprint), "u64", "fingerprint"},
                                  {offsetof(SessionHeader, kv), "u32", "kv"},
                                  {offsetof(SessionHeader, activations), "u32", "activations"},
                                  {offsetof(SessionHeader, position), "u32", "position"},
                                  {offsetof(SessionHeader, n_tokens), "u32", "n_tokens"},
                                  {kSessionHeaderBytes, "u32", "token"},
                                  {kSessionHeaderBytes + 6 * 4, "f32", "key"}};
  // The check is made right again, as whoever means harm would.
  check_fields({"session", read_file(folder.file("session")), fields, {"key"}, [&](const std::string& file) {
                  const std::size_t end = file.size() - kSessionHashBytes;
                  const std::string sealed = patched(file, end, XXH3_64bits(file.data(), end));
                  const auto restored = session->restore(std::as_bytes(std::span(sealed)));
                  if (!restored) return std::optional(restored.error());
                  return error_of(session->eval(kTokens));
                }});
}
