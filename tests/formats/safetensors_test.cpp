#include "formats/safetensors.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "util/bytes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

using namespace ml;
using nlohmann::json;

namespace {

std::string file_of(const std::string& header, std::size_t body_bytes) {
  std::string file(8, '\0');
  store_le<std::uint64_t>(file.data(), header.size());
  return file + header + std::string(body_bytes, 'x');
}

// Two tensors in 24 bytes: "a", F32 [2, 2], and "b", BF16 [4].
json two_tensors() {
  return {{"a", {{"dtype", "F32"}, {"shape", {2, 2}}, {"data_offsets", {0, 16}}}},
          {"b", {{"dtype", "BF16"}, {"shape", {4}}, {"data_offsets", {16, 24}}}}};
}

std::string first_defect(const std::string& file) {
  const auto read = read_safetensors(as_bytes(file));
  return read ? "" : describe(read.error());
}

}  // namespace

TEST_CASE("a sound safetensors file gives names, shapes and views", "[formats]") {
  json header = two_tensors();
  header["__metadata__"] = {{"format", "pt"}};
  header["scalar"] = {{"dtype", "I64"}, {"shape", json::array()}, {"data_offsets", {24, 32}}};
  header["none"] = {{"dtype", "U8"}, {"shape", {0, 18446744073709551615u, 9}}, {"data_offsets", {32, 32}}};
  const std::string file = file_of(header.dump() + "   ", 32);
  const auto read = read_safetensors(as_bytes(file));
  REQUIRE(read);
  REQUIRE(read->tensors.size() == 4);
  CHECK(read->tensors[0].name == "a");
  CHECK(read->tensors[0].shape == std::vector<std::uint64_t>{2, 2});
  CHECK(read->tensors[0].dtype->encoding == Encoding::f32);
  CHECK(read->tensors[0].data.size() == 16);
  CHECK(read->tensors[1].offset == file.size() - 32 + 16);
  CHECK(read->tensors[1].dtype->name == "BF16");
  CHECK(read->tensors[2].dtype->encoding == std::nullopt);
  CHECK(read->tensors[3].data.empty());
  CHECK(read->metadata == std::vector<std::pair<std::string, std::string>>{{"format", "pt"}});
  CHECK(check_safetensors(as_bytes(file)).empty());
}

TEST_CASE("every broken rule of safetensors has its own message", "[formats]") {
  const auto changed = [](const auto& change) {
    json header = two_tensors();
    change(header);
    return file_of(header.dump(), 24);
  };
  const auto raw = [](std::string header) { return file_of(header, 0); };
  std::string nested = "{\"a\":";
  for (int i = 0; i < 100000; ++i) nested += '[';
  const std::pair<std::string, std::string> table[] = {
      {"", "file is empty (ML_E_FORMAT, offset 0)"},
      {"abc", "file is 3 bytes, the header length alone takes 8 (ML_E_FORMAT, offset 0)"},
      {file_of("{}", 0).substr(0, 9), "header length is 2, but only 1 bytes follow (ML_E_FORMAT, offset 0)"},
      {std::string(8, '\xff') + "{}",
       "header length is 18446744073709551615, but only 2 bytes follow (ML_E_FORMAT, offset 0)"},
      {raw(""), "header length is 0, must be at least 2 (ML_E_FORMAT, offset 0)"},
      {raw(" {}"), "header does not start with { (ML_E_FORMAT, offset 8)"},
      {raw("{\"a\":"), "header: not JSON: unexpected end of input (ML_E_FORMAT, offset 13)"},
      {raw("{} x"), "header: not JSON: invalid literal (ML_E_FORMAT, offset 11)"},
      {raw("{\"a\":NaN}"), "header: not JSON: invalid literal (ML_E_FORMAT, offset 13)"},
      {raw("{\"\xff\":1}"),
       "header: not JSON: invalid string: ill-formed UTF-8 byte (ML_E_FORMAT, offset 10)"},
      {raw(nested), "header: JSON is nested over 64 levels deep (ML_E_LIMIT, offset 8)"},
      {raw("{\"a\":1,\"a\":2}"), "header: JSON key \"a\" is there twice (ML_E_FORMAT, offset 8)"},
      {changed([](json& h) { h["__metadata__"] = 1; }),
       "metadata is 1, must be an object (ML_E_FORMAT, tensor __metadata__)"},
      {changed([](json& h) {
         h["__metadata__"] = {{"k", 1}};
       }),
       "metadata k is 1, must be a string (ML_E_FORMAT, tensor __metadata__)"},
      {changed([](json& h) { h["a"] = "x"; }), "entry is \"x\", must be an object (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"].erase("dtype"); }), "dtype is missing (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"]["dtype"] = 32; }),
       "dtype is 32, must be a string (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"]["dtype"] = "F33"; }), "dtype \"F33\" is unknown (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"].erase("shape"); }), "shape is missing (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"]["shape"] = 4; }), "shape is 4, must be a list (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["shape"] = {2, -2};
       }),
       "shape holds -2, must hold integers of 0 or more (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["shape"] = {2, 2.0};
       }),
       "shape holds 2.0, must hold integers of 0 or more (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"]["shape"] = std::vector<int>(65, 1); }),
       "shape has 65 dimensions, must have at most 64 (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["shape"] = {4294967296u, 4294967296u};
       }),
       "shape [4294967296, 4294967296] of F32 overflows 64 bits (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"] = {{"dtype", "F4"}, {"shape", {31}}, {"data_offsets", {0, 16}}};
       }),
       "124 bits of F4 do not fill whole bytes (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"].erase("data_offsets"); }),
       "data_offsets is missing (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) { h["a"]["data_offsets"] = {0}; }),
       "data_offsets must be two integers of 0 or more (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["data_offsets"] = {-16, 0};
       }),
       "data_offsets must be two integers of 0 or more (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["data_offsets"] = {16, 0};
       }),
       "data_offsets [16, 0] run backwards (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["a"]["data_offsets"] = {0, 12};
       }),
       "data_offsets [0, 12] hold 12 bytes, F32 [2, 2] needs 16 (ML_E_FORMAT, tensor a)"},
      {changed([](json& h) {
         h["b"]["data_offsets"] = {12, 20};
       }),
       "data overlaps that of a (ML_E_FORMAT, tensor b)"},
      {changed([](json& h) {
         h["a"]["shape"] = {2}, h["a"]["data_offsets"] = {8, 16};
       }),
       "8 bytes before a belong to no tensor (ML_E_FORMAT, offset "},
      {changed([](json& h) { h.erase("b"); }),
       "8 bytes after the last tensor belong to none (ML_E_FORMAT, offset "},
  };
  for (const auto& [file, message] : table) {
    INFO(message);
    const std::string defect = first_defect(file);
    CHECK(defect.substr(0, message.size()) == message);
    CHECK_FALSE(check_safetensors(as_bytes(file)).empty());
  }
  const std::string cut = file_of(two_tensors().dump(), 20);
  CHECK(first_defect(cut) == "file is " + std::to_string(cut.size()) + " bytes, the tensor needs " +
                                 std::to_string(cut.size() + 4) + " (ML_E_FORMAT, tensor b)");
}

TEST_CASE("offsets near 2^64 neither wrap nor pass", "[formats]") {
  json header = two_tensors();
  header["b"]["data_offsets"] = {18446744073709551608u, 18446744073709551615u};
  header["b"]["dtype"] = "U8";
  header["b"]["shape"] = {7};
  CHECK(first_defect(file_of(header.dump(), 24)).find("needs over 2^64 (ML_E_FORMAT, tensor b)") !=
        std::string::npos);
}

TEST_CASE("checking goes on after a defect", "[formats]") {
  json header = two_tensors();
  header["a"]["dtype"] = "F33";
  header["b"]["shape"] = {5};
  header["__metadata__"] = {{"k", 1}};
  const std::string file = file_of(header.dump(), 24);
  CHECK(check_safetensors(as_bytes(file)).size() == 3);

  for (const int n : {1000, 1001, 5000}) {
    json many;
    for (int i = 0; i < n; ++i) many[fmt::format("t{}", i)] = 0;
    const std::string many_file = file_of(many.dump(), 0);
    const auto defects = check_safetensors(as_bytes(many_file));
    REQUIRE(defects.size() == (n == 1000 ? 1000 : 1001));
    if (n == 1001) CHECK(defects.back().message == "1 more defect");
    if (n == 5000) CHECK(defects.back().message == "4000 more defects");
  }
}

TEST_CASE("a check keeps the tensors without a defect, and none twice", "[formats]") {
  json header;
  const auto add = [&](const char* name, std::uint64_t begin, std::uint64_t end) {
    header[name] = {{"dtype", "U8"}, {"shape", {end - begin}}, {"data_offsets", {begin, end}}};
  };
  add("a", 0, 8);
  add("b", 0, 8);
  add("c", 4, 16);
  add("d", 16, 24);
  header["e"] = 1;
  SafetensorsFile file;
  const std::string bytes = file_of(header.dump(), 24);
  CHECK(check_safetensors(as_bytes(bytes), &file).size() == 3);
  REQUIRE(file.tensors.size() == 2);
  CHECK(file.tensors[0].name == "a");
  CHECK(file.tensors[1].name == "d");
}

TEST_CASE("what is written reads back the same", "[formats]") {
  const std::vector<std::byte> data(24, std::byte{7});
  const std::span<const std::byte> bytes(data);
  const std::vector<SafetensorsSource> sources{{"second", "F32", {2, 3}, bytes},
                                               {"first", "BF16", {1, 4}, bytes.first(8)}};
  const std::vector<std::pair<std::string, std::string>> metadata{{"format", "pt"}};
  const auto file = write_safetensors(sources, metadata);
  REQUIRE(file);
  const auto read = read_safetensors(*file);
  REQUIRE(read);
  CHECK(read->metadata == metadata);
  REQUIRE(read->tensors.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read->tensors[i].name == sources[i].name);
    CHECK(read->tensors[i].shape == sources[i].shape);
    CHECK(std::equal(read->tensors[i].data.begin(), read->tensors[i].data.end(), sources[i].data.begin()));
  }
  CHECK(read->tensors[0].offset % 8 == 0);

  const std::pair<SafetensorsSource, std::string> refused[] = {
      {{"x", "F33", {6}, bytes}, "dtype F33 is unknown (ML_E_ARG, tensor x)"},
      {{"x", "F32", {5}, bytes}, "data is 24 bytes, its shape needs 20 (ML_E_ARG, tensor x)"},
      {{"__metadata__", "F32", {6}, bytes}, "name is taken (ML_E_ARG, tensor __metadata__)"},
      {{"\xff", "F32", {6}, bytes}, "a name or metadata text is not UTF-8 (ML_E_ARG)"},
  };
  for (const auto& [source, message] : refused) {
    const auto bad = write_safetensors({&source, 1});
    REQUIRE_FALSE(bad);
    CHECK(describe(bad.error()) == message);
  }
}

TEST_CASE("no truncation and no changed header byte does more than one clear error", "[formats]") {
  json header = two_tensors();
  header["__metadata__"] = {{"format", "pt"}};
  const std::string good = file_of(header.dump(), 24);
  REQUIRE(first_defect(good).empty());
  // The copy is as large as the file, so that the sanitizer sees a read past its end.
  const auto try_bytes = [](std::string_view bytes) {
    const auto copy = std::make_unique<std::byte[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    const std::span<const std::byte> view(copy.get(), bytes.size());
    const auto read = read_safetensors(view);
    CHECK(read.operator bool() == check_safetensors(view).empty());
    if (!read) CHECK_FALSE(read.error().message.empty());
    return read.operator bool();
  };
  for (std::size_t length = 0; length < good.size(); ++length) CHECK_FALSE(try_bytes(good.substr(0, length)));
  for (std::size_t at = 0; at < good.size() - 24; ++at) {
    for (const int byte : {0, 1, 127, 255, int('"'), int('['), int('}'), int('9'), int('-'), int(' ')}) {
      std::string bad = good;
      bad[at] = static_cast<char>(byte);
      try_bytes(bad);
    }
  }
}
