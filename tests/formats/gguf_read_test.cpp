// The container: what it holds, and every rule broken in turn.

#include "formats/gguf_builder.hpp"

#include "catch.hpp"
#include "documented_rules.hpp"
#include "util/bytes.hpp"

#include <ml/status.hpp>

#include <functional>
#include <limits>
#include <memory>

using namespace ml;

namespace {

using B = GgufBuilder;

// Two tensors and a key of each kind.
GgufBuilder sound() {
  GgufBuilder file;
  file.add("general.architecture", "llama");
  file.add("a.number", std::uint32_t(7));
  file.add("a.flag", true);
  file.add("a.list", std::vector<std::string>{"x", "", "yz"});
  file.tensors = {{"a", {4, 2}, 0, 0}, {"b", {32}, 8, 32}};
  file.data = std::string(32 + 34, '\1');
  return file;
}

std::string with(const std::function<void(GgufBuilder&)>& change) {
  GgufBuilder file = sound();
  change(file);
  return file.file();
}

// A file whose last entry has the bytes `value` as type and value.
std::string with_value(const std::string& value) {
  return with([&](GgufBuilder& file) { file.entries.emplace_back("bad", value); });
}

// The same with nothing behind it.
std::string ending_in(const std::string& value) {
  GgufBuilder file;
  file.entries.emplace_back("bad", value);
  return file.file();
}

std::string raw_header(std::uint64_t n_tensors, std::uint64_t n_keys) {
  return "GGUF" + B::le<std::uint32_t>(3) + B::le(n_tensors) + B::le(n_keys) + std::string(64, '\0');
}

std::string first_defect(const std::string& file) {
  // A copy of its own size, so that a sanitizer sees every byte beyond it.
  const auto copy = std::make_unique<std::byte[]>(file.size());
  std::memcpy(copy.get(), file.data(), file.size());
  const std::span<const std::byte> bytes(copy.get(), file.size());
  const auto read = read_gguf(bytes);
  CHECK(check_gguf(bytes).defects.empty() == static_cast<bool>(read));
  return read ? "" : describe(read.error());
}

std::string nested(unsigned depth) {
  std::string value = B::type(GgufType::array);
  for (unsigned i = 1; i < depth; ++i) value += B::type(GgufType::array) + B::le<std::uint64_t>(1);
  return value + B::type(GgufType::u8) + B::le<std::uint64_t>(1) + "x";
}

constexpr std::uint64_t kHuge = std::uint64_t(1) << 62;

}  // namespace

TEST_CASE("a sound GGUF file gives its keys and tensors", "[formats]") {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder = sound();
    builder.version = version;
    const std::string file = builder.file();
    const auto read = read_gguf(as_bytes(file));
    REQUIRE(read);
    CHECK(read->version == version);
    CHECK(read->alignment == 32);
    REQUIRE(read->entries.size() == 4);
    CHECK(read->find("general.architecture")->text() == "llama");
    CHECK(read->find("a.number")->count() == 7);
    CHECK(read->find("a.number")->number() == 7.0);
    CHECK(read->find("a.flag")->flag() == true);
    CHECK(read->find("a.list")->texts() == std::vector<std::string_view>{"x", "", "yz"});
    CHECK(read->find("a.list")->n == 3);
    CHECK_FALSE(read->find("a.list")->text());
    CHECK_FALSE(read->find("a.number")->texts());
    CHECK(read->find("none") == nullptr);
    REQUIRE(read->tensors.size() == 2);
    CHECK(read->tensors[0].rows() == 2);
    CHECK(read->tensors[0].cols() == 4);
    CHECK(read->tensors[0].offset == read->data_offset);
    CHECK(read->tensors[1].type->name == "Q8_0");
    CHECK(read->tensors[1].data.size() == 34);
    CHECK(read->find_tensor("b") == &read->tensors[1]);
  }
}

TEST_CASE("GGUF numbers of every type read as what they are", "[formats]") {
  GgufBuilder builder;
  const auto add = [&](const char* key, GgufType type, const std::string& bytes) {
    builder.entries.emplace_back(key, B::type(type) + bytes);
  };
  add("u8", GgufType::u8, B::le<std::uint8_t>(200));
  add("i8", GgufType::i8, B::le<std::int8_t>(-3));
  add("u16", GgufType::u16, B::le<std::uint16_t>(60000));
  add("i16", GgufType::i16, B::le<std::int16_t>(-300));
  add("i32", GgufType::i32, B::le<std::int32_t>(70000));
  add("u64", GgufType::u64, B::le<std::uint64_t>(UINT64_MAX));
  add("i64", GgufType::i64, B::le<std::int64_t>(-5));
  add("f32", GgufType::f32, B::le(0.5f));
  add("f64", GgufType::f64, B::le(0.25));
  builder.add_numbers<std::uint16_t>("list", GgufType::u16, {1, 2, 3});
  builder.add("texts", std::vector<std::string>{"a", "", "b"});
  builder.entries.emplace_back("nested", nested(4));
  const std::string file = builder.file();
  const auto read = read_gguf(as_bytes(file));
  REQUIRE(read);
  CHECK(read->find("u8")->count() == 200);
  CHECK(read->find("i8")->number() == -3.0);
  CHECK_FALSE(read->find("i8")->count());
  CHECK(read->find("u16")->count() == 60000);
  CHECK(read->find("i16")->number() == -300.0);
  CHECK(read->find("i32")->count() == 70000);
  CHECK(read->find("u64")->count() == UINT64_MAX);
  CHECK(read->find("i64")->number() == -5.0);
  CHECK(read->find("f32")->number() == 0.5);
  CHECK_FALSE(read->find("f32")->count());
  CHECK(read->find("f64")->number() == 0.25);
  const GgufValue& list = *read->find("list");
  REQUIRE(list.is_list());
  REQUIRE(list.n == 3);
  CHECK(list.at(2).count() == 3);
  CHECK(list.at(2).offset == list.offset + 4);
  CHECK(read->find("nested")->n == 1);
  CHECK_FALSE(read->find("nested")->is_list());
  CHECK_FALSE(read->find("u8")->is_list());
  const GgufValue& texts = *read->find("texts");
  CHECK_FALSE(texts.is_list());
  CHECK(texts.texts()->size() == 3);
  CHECK(*texts.texts(2) == std::vector<std::string_view>{"a", ""});
  CHECK(texts.texts(0)->empty());
}

TEST_CASE("every broken rule of GGUF has its own message", "[formats]") {
  struct Case {
    const char* rule;  // of gguf(5), VALIDATION
    std::string file, message;
  };
  const Case table[] = {
      {"the file is shorter than the header", "",
       "file is 0 bytes, the header takes 24 (ML_E_FORMAT, offset 0)"},
      {"the file is shorter than the header", "GGUF",
       "file is 4 bytes, the header takes 24 (ML_E_FORMAT, offset 0)"},
      {"the file does not begin with GGUF", "GGML" + std::string(20, '\0'),
       "file does not begin with GGUF (ML_E_FORMAT, offset 0)"},
      {"the version is neither 2 nor 3, or the file is big-endian", with([](auto& f) { f.version = 1; }),
       "version is 1, must be 2 or 3 (ML_E_UNSUPPORTED, offset 4)"},
      {"the version is neither 2 nor 3, or the file is big-endian", with([](auto& f) { f.version = 4; }),
       "version is 4, must be 2 or 3 (ML_E_UNSUPPORTED, offset 4)"},
      {"the version is neither 2 nor 3, or the file is big-endian",
       with([](auto& f) { f.version = 0x03000000; }),
       "version is 0x03000000: the file is big-endian (ML_E_UNSUPPORTED, offset 4)"},
      {"there are more keys or tensors than the file can hold", raw_header(kHuge, 0),
       "tensor count is 4611686018427387904, but 64 bytes hold at most 2 (ML_E_FORMAT, offset 8)"},
      {"there are more keys or tensors than the file can hold", raw_header(0, UINT64_MAX),
       "key count is 18446744073709551615, but 64 bytes hold at most 4 (ML_E_FORMAT, offset 16)"},
      // Keys.
      {"a key, a text or an array goes on after the file",
       raw_header(0, 1).substr(0, 24) + B::le(kHuge) + std::string(20, 'x'),
       "the name of key 0 has 4611686018427387904 bytes, but only 20 follow (ML_E_FORMAT, offset 24)"},
      {"a key or a tensor has no name", with([](auto& f) { f.entries[1].first = ""; }),
       "the name of key 1 is empty (ML_E_FORMAT, offset "},
      {"a key is longer than 65535 bytes, or a tensor's name than 64",
       with([](auto& f) { f.entries[1].first = std::string(65536, 'k'); }),
       "the name of key 1 has 65536 bytes, may have 65535 at most (ML_E_LIMIT, offset "},
      {"a key or a tensor's name is not UTF-8", with([](auto& f) { f.entries[1].first = "a\xff"; }),
       "the name of key 1, a\xEF\xBF\xBD, is not UTF-8 (ML_E_FORMAT, offset "},
      {"a key or a tensor is there twice", with([](auto& f) { f.entries[1].first = "a.flag"; }),
       "key a.flag is there twice (ML_E_FORMAT, offset "},
      // Values.
      {"a type of a key is none", with_value(B::le<std::uint32_t>(13) + "x"),
       "type of key bad is 13, must be 0 to 12 (ML_E_FORMAT, offset "},
      {"a key, a text or an array goes on after the file", ending_in(std::string("\4\0\0", 3)),
       "file ends inside key bad (ML_E_FORMAT, offset 38)"},
      {"a key, a text or an array goes on after the file", ending_in(B::type(GgufType::u64) + "1234567"),
       "file ends inside key bad (ML_E_FORMAT, offset 46)"},
      {"a key, a text or an array goes on after the file", ending_in(B::type(GgufType::string) + "1234"),
       "file ends inside key bad (ML_E_FORMAT, offset 43)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::type(GgufType::string) + B::le<std::uint64_t>(UINT64_MAX) + "x"),
       "key bad has 18446744073709551615 bytes, but only 1 follow (ML_E_FORMAT, offset 39)"},
      {"a bool is neither 0 nor 1", with_value(B::type(GgufType::boolean) + "\2"),
       "key bad is a bool of 2, must be 0 or 1 (ML_E_FORMAT, offset "},
      {"a bool is neither 0 nor 1", with_value(B::array(GgufType::boolean, 3, std::string("\0\1\3", 3))),
       "key bad is a bool of 3, must be 0 or 1 (ML_E_FORMAT, offset "},
      {"a key, a text or an array goes on after the file", ending_in(B::type(GgufType::array) + "1234"),
       "file ends inside key bad (ML_E_FORMAT, offset 43)"},
      {"a type of a key is none", with_value(B::array(static_cast<GgufType>(77), 1, "x")),
       "element type of key bad is 77, must be 0 to 12 (ML_E_FORMAT, offset "},
      {"a key, a text or an array goes on after the file", ending_in(B::array(GgufType::u32, 3, "12345678")),
       "key bad has 3 elements of type u32, but only 8 bytes follow (ML_E_FORMAT, offset 43)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::array(GgufType::u64, kHuge, "12345678")),
       "key bad has 4611686018427387904 elements of type u64, but only 8 bytes follow (ML_E_FORMAT, offset "
       "43)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::array(GgufType::string, kHuge, "12345678")),
       "key bad has 4611686018427387904 elements of type string, but only 8 bytes follow (ML_E_FORMAT, "
       "offset 43)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::array(GgufType::string, 2, B::text("ab") + B::le<std::uint64_t>(9) + "x")),
       "element 1 of key bad has 9 bytes, but only 1 follow (ML_E_FORMAT, offset 61)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::array(GgufType::string, 2, B::text("abcdefgh") + "xyz")),
       "file ends inside element 1 of key bad (ML_E_FORMAT, offset 70)"},
      {"a key, a text or an array goes on after the file",
       ending_in(B::array(GgufType::array, kHuge, "123456789012")),
       "key bad has 4611686018427387904 elements of type array, but only 12 bytes follow (ML_E_FORMAT, "
       "offset 43)"},
      {"arrays are nested over four deep", with_value(nested(5)),
       "key bad nests arrays over 4 levels deep (ML_E_LIMIT, offset "},
      // Alignment.
      {"general.alignment is no u32", with([](auto& f) { f.add("general.alignment", "32"); }),
       "general.alignment is of type string, must be u32 (ML_E_FORMAT, offset "},
      {"general.alignment is no power of two",
       with([](auto& f) { f.add("general.alignment", std::uint32_t(0)); }),
       "general.alignment is 0, must be a power of two (ML_E_FORMAT, offset "},
      {"general.alignment is no power of two",
       with([](auto& f) { f.add("general.alignment", std::uint32_t(3)); }),
       "general.alignment is 3, must be a power of two (ML_E_FORMAT, offset "},
      {"a tensor's data end after the file",
       with([](auto& f) { f.add("general.alignment", std::uint32_t(1) << 31); }),
       "file is 354 bytes, the tensor needs 2147483680 (ML_E_FORMAT, tensor a)"},
      // Tensors.
      {"a key or a tensor has no name", with([](auto& f) { f.tensors[1].name = ""; }),
       "the name of tensor 1 is empty (ML_E_FORMAT, offset "},
      {"a key is longer than 65535 bytes, or a tensor's name than 64",
       with([](auto& f) { f.tensors[1].name = std::string(65, 't'); }),
       "the name of tensor 1 has 65 bytes, may have 64 at most (ML_E_LIMIT, offset "},
      {"a key or a tensor's name is not UTF-8", with([](auto& f) { f.tensors[1].name = "\xc3"; }),
       "the name of tensor 1, \xEF\xBF\xBD, is not UTF-8 (ML_E_FORMAT, offset "},
      {"a key or a tensor is there twice", with([](auto& f) { f.tensors[1].name = "a"; }),
       "tensor is there twice (ML_E_FORMAT, tensor "},
      {"a tensor has no or more than four dimensions", with([](auto& f) { f.tensors[1].dims.clear(); }),
       "tensor has 0 dimensions, must have 1 to 4 (ML_E_FORMAT, tensor "},
      {"a tensor has no or more than four dimensions", with([](auto& f) { f.tensors[1].dims.assign(5, 1); }),
       "tensor has 5 dimensions, must have 1 to 4 (ML_E_FORMAT, tensor "},
      {"a dimension is 0", with([](auto& f) {
         f.tensors[0].dims = {4, 0};
       }),
       "shape [4, 0] has a dimension of 0 (ML_E_FORMAT, tensor "},
      {"a tensor's size does not fit into 64 bits", with([](auto& f) {
         f.tensors[0].dims = {kHuge, 4};
       }),
       "shape [4611686018427387904, 4] has over 2^64 elements (ML_E_FORMAT, tensor "},
      {"a tensor's size does not fit into 64 bits", with([](auto& f) { f.tensors[0].dims = {kHuge}; }),
       "shape [4611686018427387904] of F32 has over 2^64 bytes (ML_E_FORMAT, tensor "},
      {"a tensor's size does not fit into 64 bits", with([](auto& f) {
         f.tensors[0].dims = {(kHuge >> 20) + 1, 4096, 1, 1024};
       }),
       "shape [4398046511105, 4096, 1, 1024] has over 2^64 elements (ML_E_FORMAT, tensor "},
      {"a tensor's rows are no whole blocks of its type", with([](auto& f) { f.tensors[1].dims = {33}; }),
       "first dimension is 33, must be a multiple of 32 for Q8_0 (ML_E_FORMAT, tensor "},
      {"a tensor's type is none", with([](auto& f) { f.tensors[1].type = 4; }),
       "tensor type is 4, which is none (ML_E_FORMAT, tensor "},
      {"a tensor's type is none", with([](auto& f) { f.tensors[1].type = UINT32_MAX; }),
       "tensor type is 4294967295, which is none (ML_E_FORMAT, tensor "},
      {"a tensor's data are not aligned", with([](auto& f) { f.tensors[1].offset = 33; }),
       "data offset is 33, must be a multiple of general.alignment, 32 (ML_E_FORMAT, tensor b)"},
      {"a tensor's data end after the file", with([](auto& f) { f.tensors[1].offset = UINT64_MAX - 31; }),
       "data offset is 18446744073709551584, past the end of any file (ML_E_FORMAT, tensor b)"},
      {"a tensor's data end after the file", with([](auto& f) { f.tensors[1].offset = 64; }),
       "file is 322 bytes, the tensor needs 354 (ML_E_FORMAT, tensor b)"},
      {"tensors' data overlap", with([](auto& f) { f.tensors[1].offset = 0; }),
       "data overlaps that of a (ML_E_FORMAT, tensor b, offset 256)"},
      {"tensors' data overlap", with([](auto& f) {
         f.tensors[0].dims = {4, 3};
       }),
       "data overlaps that of a (ML_E_FORMAT, tensor b, offset "},
  };
  DocumentedRules rules("gguf");
  for (const auto& [rule, file, message] : table) {
    INFO(message);
    const std::string defect = first_defect(file);
    CHECK(defect.substr(0, message.size()) == message);
    rules.met(rule, defect);
  }
  rules.check_all_met();
}

TEST_CASE("a cut GGUF file is refused wherever the cut is", "[formats]") {
  const std::string file = sound().file();
  CHECK(first_defect(file).empty());
  for (std::size_t size = 0; size < file.size(); ++size) {
    INFO(size);
    CHECK_FALSE(first_defect(file.substr(0, size)).empty());
  }
}

TEST_CASE("a check of a GGUF file goes on after a defect, within bounds", "[formats]") {
  GgufBuilder builder = sound();
  builder.tensors[0].dims = {0};
  builder.tensors[1].offset = 33;
  builder.entries[1].first = "a.flag";
  const std::string file = builder.file();
  const GgufReading reading = check_gguf(as_bytes(file));
  CHECK(reading.defects.size() == 3);
  CHECK(reading.file.entries.size() == 4);
  CHECK(reading.file.tensors.empty());

  // Tensors that overlap one before them are left out.
  builder = sound();
  const auto n_tensors = builder.tensors.size();
  builder.tensors.push_back(builder.tensors[1]);
  builder.tensors.back().name = "again";
  const std::string overlapping = builder.file();
  const GgufReading apart = check_gguf(as_bytes(overlapping));
  CHECK(apart.defects.size() == 1);
  CHECK(apart.file.tensors.size() == n_tensors);

  // A list of tensors that breaks off: none of them has a place.
  GgufBuilder cut = sound();
  cut.tensors[1].dims.clear();
  const std::string cut_file = cut.file();
  CHECK(check_gguf(as_bytes(cut_file)).file.tensors.empty());

  GgufBuilder many;
  for (int i = 0; i < 5000; ++i) many.add("same", true);
  const std::string same = many.file();
  const auto defects = check_gguf(as_bytes(same)).defects;
  REQUIRE(defects.size() == 1001);
  CHECK(defects.back().message == "3999 more defects");
}
