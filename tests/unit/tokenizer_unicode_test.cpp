#include "catch.hpp"
#include "data.hpp"

#include "tokenizer/char_class.hpp"
#include "tokenizer/nfc.hpp"
#include "util/utf8.hpp"

#include <nlohmann/json.hpp>

// The tables of lib/tokenizer against the data they are made of, for every code point.

namespace {

using nlohmann::json;

constexpr char32_t kEnd = 0x110000;

json unicode_data(const std::string& name) {
  return json::parse(read_file(data_path("../../lib/tokenizer/unicode/" + name)));
}

std::vector<bool> members_of(const json& ranges) {
  std::vector<bool> members(kEnd);
  for (const json& range : ranges) {
    for (auto cp = range[0].get<std::size_t>(); cp <= range[1].get<std::size_t>(); ++cp) members[cp] = true;
  }
  return members;
}

std::string utf8(std::initializer_list<char32_t> text) {
  std::string out;
  for (const char32_t cp : text) ml::append_utf8(out, cp);
  return out;
}

std::string nfc(const std::string& text) {
  std::string scratch;
  return std::string(ml::normalize_nfc(text, scratch));
}

}  // namespace

TEST_CASE("character classes are those of the tokenizers library", "[tokenizer][unicode]") {
  const json data = unicode_data("onig_classes.json");
  struct Row {
    const char* name;
    std::uint8_t bits;
    std::size_t count;
  };
  for (const Row& row : std::vector<Row>{{"L", ml::kLetter, 141028},
                                         {"N", ml::kNumber, 1911},
                                         {"s", ml::kSpace, 25},
                                         {"rust_is_numeric", ml::kNumeric, 1924}}) {
    const std::vector<bool> members = members_of(data[row.name]);
    std::size_t n_wrong = 0, n_members = 0;
    for (char32_t cp = 0; cp < kEnd; ++cp) {
      const bool is_member = (ml::char_class(cp) & row.bits) != 0;
      n_wrong += is_member != members[cp];
      n_members += is_member;
    }
    INFO(row.name);
    CHECK(n_wrong == 0);
    CHECK(n_members == row.count);
  }
  for (const char32_t cp : {U'\u0085', U'\u00A0', U'\u1680', U'\u2003', U'\u2029', U'\u202F', U'\u3000'})
    CHECK((ml::char_class(cp) & ml::kSpace) != 0);
  for (const char32_t cp : {U'\x1C', U'\x1F', U'\u180E', U'\u200B', U'\uFEFF'})
    CHECK((ml::char_class(cp) & ml::kSpace) == 0);
}

TEST_CASE("normal form C has the data of the tokenizers library", "[tokenizer][unicode]") {
  const json data = unicode_data("hf_nfc.json");
  std::size_t n_wrong = 0;
  for (const json& row : data["comp"]) {
    n_wrong += nfc(utf8({row[0].get<char32_t>(), row[1].get<char32_t>()})) != utf8({row[2].get<char32_t>()});
  }
  CHECK(n_wrong == 0);

  std::vector<bool> decomposed(kEnd);
  for (const json& row : data["decomp"]) {
    std::string parts;
    for (std::size_t i = 1; i < row.size(); ++i) ml::append_utf8(parts, row[i].get<char32_t>());
    decomposed[row[0].get<std::size_t>()] = true;
    n_wrong += nfc(utf8({row[0].get<char32_t>()})) != nfc(parts);
  }
  CHECK(n_wrong == 0);

  // A mark goes before U+0345 if its class is lower; any other character stays behind it.
  constexpr char32_t kIota = 0x345;
  constexpr int kIotaClass = 240;
  std::vector<int> classes(kEnd);
  for (const json& row : data["ccc"]) {
    for (auto cp = row[0].get<std::size_t>(); cp <= row[1].get<std::size_t>(); ++cp) classes[cp] = row[2];
  }
  for (char32_t cp = 0; cp < kEnd; ++cp) {
    if ((cp >= 0xD800 && cp < 0xE000) || decomposed[cp]) continue;
    const bool moves = classes[cp] != 0 && classes[cp] < kIotaClass;
    n_wrong += nfc(utf8({U'!', kIota, cp})) != (moves ? utf8({U'!', cp, kIota}) : utf8({U'!', kIota, cp}));
  }
  CHECK(n_wrong == 0);
  // Composites younger than the data neither join nor part.
  CHECK(nfc(utf8({0x105D2, 0x307})) == utf8({0x105D2, 0x307}));
  CHECK(nfc(utf8({0x105C9})) == utf8({0x105C9}));
}
