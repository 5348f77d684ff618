#include "util/json.hpp"
#include "catch.hpp"

#include <string>

using namespace ml;

namespace {

std::string defect(std::string_view text) {
  const auto parsed = parse_json(text);
  REQUIRE_FALSE(parsed);
  return describe(parsed.error());
}

}  // namespace

TEST_CASE("JSON becomes the value that it says", "[util]") {
  const auto parsed = parse_json(R"( {"a": [1, -2, 3.5, true, null, "x\u00e9"], "b": {"c": {}}, "d": []} )");
  REQUIRE(parsed);
  CHECK(parsed->at("a").size() == 6);
  CHECK(parsed->at("a")[5] == "x\xc3\xa9");
  CHECK(parsed->at("a")[1] == -2);
  CHECK(parsed->at("b").at("c").empty());
  CHECK(*parse_json("3") == 3);
}

TEST_CASE("what is no strict JSON is refused with its place", "[util]") {
  CHECK(defect(R"({"a": 1, "b": {"a": 2}, "a": 3})") == "JSON key \"a\" is there twice (ML_E_FORMAT)");
  CHECK(defect(std::string("{}\0 garbage", 12)) == "not JSON: a NUL byte (ML_E_FORMAT, offset 2)");
  CHECK(defect(std::string(100, '[')) == "JSON is nested over 64 levels deep (ML_E_LIMIT)");
  CHECK(parse_json("[1,]").error().offset == 3);
  CHECK(parse_json("").error().status == Status::format);
  CHECK(parse_json("\xff").error().status == Status::format);
  CHECK(parse_json("1e999").error().status == Status::format);
}

TEST_CASE("a JSON text of too many values is refused before they fill the memory", "[util]") {
  std::string text = "[{}";
  for (std::size_t i = 3; i < kMaxJsonValues; ++i) text += ",0";
  CHECK(parse_json(text + ",0]"));
  CHECK(defect(text + ",0,0]") == "JSON holds more than 4194304 values (ML_E_LIMIT)");
}

TEST_CASE("many objects are read in linear time", "[util]") {
  // 200000 of them took a minute where each looked at all before it.
  std::string text = "[";
  for (int i = 0; i < 200000; ++i) text += i == 0 ? "{\"a\":{}}" : ",{\"a\":{}}";
  const auto parsed = parse_json(text + "]");
  REQUIRE(parsed);
  CHECK(parsed->size() == 200000);
}
