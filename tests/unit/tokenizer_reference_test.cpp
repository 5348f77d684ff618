#include "catch.hpp"
#include "data.hpp"

#include <ml/tokenizer.hpp>

#include "formats/mlt.hpp"
#include "util/utf8.hpp"

#include <limits>
#include <random>

// Encoding against its definition: every merge looked for in the whole text, one after the other.

namespace {

using ml::MltContents, ml::MltMerge, ml::TokenAttr, ml::TokenizerKind;
using Ids = std::vector<std::uint32_t>;

std::uint32_t token_of(const MltContents& contents, std::string_view bytes, TokenAttr attr) {
  for (std::uint32_t id = contents.tokens.size(); id-- > 0;) {
    if (contents.tokens.attr(id) == attr && contents.tokens.bytes(id) == bytes) return id;
  }
  return UINT32_MAX;
}

Ids symbols_of(const MltContents& contents, std::string_view text) {
  Ids ids;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* const begin = at;
    ml::next_char(at);
    const std::string_view character(begin, static_cast<std::size_t>(at - begin));
    const std::uint32_t id = token_of(contents, character == " " ? "\u2581" : character, TokenAttr::normal);
    if (id != UINT32_MAX) {
      ids.push_back(id);
      continue;
    }
    for (const char& c : character) ids.push_back(token_of(contents, {&c, 1}, TokenAttr::byte));
  }
  return ids;
}

Ids merge_all(const MltContents& contents, Ids ids) {
  for (;;) {
    std::size_t best_rank = contents.merges.size(), best_at = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        const MltMerge& merge = contents.merges[rank];
        if (merge.left != ids[at] || merge.right != ids[at + 1]) continue;
        best_rank = rank;
        best_at = at;
      }
    }
    if (best_rank == contents.merges.size()) return ids;
    ids[best_at] = contents.merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

// A tokenizer of few letters whose rules join anything: spaces inside tokens, several rules for a token.
MltContents random_tokenizer(std::mt19937& random) {
  MltContents contents;
  contents.kind = TokenizerKind::sentencepiece;
  contents.flags = random() % 2 ? ml::kMltNoPrefix : 0;
  for (int byte = 0; byte < 256; ++byte) {
    contents.tokens.push_back(TokenAttr::byte, std::string(1, static_cast<char>(byte)));
  }
  std::vector<std::string> tokens = {"\u2581", "a", "b", "é", "."};
  const std::size_t n_characters = tokens.size();
  for (std::size_t i = 0; i < 12; ++i) {
    const std::string token = tokens[random() % tokens.size()] + tokens[random() % tokens.size()];
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
  }
  for (const std::string& token : tokens) contents.tokens.push_back(TokenAttr::normal, token);
  for (std::uint32_t left = 0; left < tokens.size(); ++left) {
    for (std::uint32_t right = 0; right < tokens.size(); ++right) {
      const auto made = std::find(tokens.begin() + static_cast<std::ptrdiff_t>(n_characters), tokens.end(),
                                  tokens[left] + tokens[right]);
      if (made == tokens.end()) continue;
      contents.merges.push_back(
          {256 + left, 256 + right, 256 + static_cast<std::uint32_t>(made - tokens.begin())});
    }
  }
  std::shuffle(contents.merges.begin(), contents.merges.end(), random);
  return contents;
}

std::string random_text(std::mt19937& random, std::size_t n) {
  static const std::vector<std::string> parts = {" ", " ", "a", "a",  "b",      "b",
                                                 "é", ".", "c", "\n", "\u2581", "猫"};
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += parts[random() % parts.size()];
  return text;
}

}  // namespace

TEST_CASE("text is cut only where no rule joins", "[tokenizer]") {
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    const MltContents contents = random_tokenizer(random);
    const auto bytes = ml::write_mlt(contents);
    REQUIRE(bytes);
    const auto tokenizer = ml::Tokenizer::from_bytes(*bytes);
    REQUIRE(tokenizer);
    for (int i = 0; i < 40; ++i) {
      std::string text = random_text(random, 1 + random() % 90);
      INFO(text);
      const Ids ids = tokenizer->encode(text);
      std::string spaced = contents.flags & ml::kMltNoPrefix ? "" : " ";
      for (std::size_t at = 0; at < text.size();) {
        const bool mark = std::string_view(text).substr(at).starts_with("\u2581");
        spaced += mark ? ' ' : text[at];
        at += mark ? 3 : 1;
      }
      CHECK(ids == merge_all(contents, symbols_of(contents, spaced)));
      CHECK(ids == tokenizer->encode(text));  // out of the caches
    }
  }
}

TEST_CASE("caches forget and stay right", "[tokenizer]") {
  const auto open = [] {
    auto tokenizer = ml::Tokenizer::open(data_path("tokenizers/gpt2/tokenizer.json"));
    REQUIRE(tokenizer);
    return *tokenizer;
  };
  const ml::Tokenizer tokenizer = open(), other = open();
  std::mt19937 random(21);
  // More pieces of many tokens than the caches hold: 9 to 16 letters, and some longer than a cache takes.
  std::string text;
  std::vector<std::size_t> begins;
  for (int i = 0; i < 400000; ++i) {
    begins.push_back(text.size());
    text += ' ';
    const std::size_t n = i % 50 == 0 ? 17 + random() % 150 : 8 + random() % 8;
    for (std::size_t k = 0; k < n; ++k) text += static_cast<char>('a' + random() % 26);
  }
  begins.push_back(text.size());
  const Ids ids = tokenizer.encode(text);
  CHECK(tokenizer.decode(ids) == text);
  CHECK(tokenizer.encode(text) == ids);
  // Alone each word has its own tokens.
  std::size_t at = 0;
  bool same = true;
  for (std::size_t i = 0; i + 1 < begins.size(); i += 1) {
    const Ids word = other.encode(std::string_view(text).substr(begins[i], begins[i + 1] - begins[i]));
    same = same && std::equal(word.begin(), word.end(), ids.begin() + static_cast<std::ptrdiff_t>(at));
    at += word.size();
  }
  CHECK(same);
  CHECK(at == ids.size());
}

TEST_CASE("what lies behind a text is not read", "[tokenizer]") {
  std::mt19937 random(4);
  for (const char* name : {"gpt2", "sp_legacy", "l3_nfc"}) {
    const auto tokenizer =
        ml::Tokenizer::open(data_path(std::string("tokenizers/") + name + "/tokenizer.json"));
    REQUIRE(tokenizer);
    const std::string text = read_file(data_path("README.md")).substr(0, 400);
    for (std::size_t n = 0; n < text.size(); ++n) {
      const std::unique_ptr<char[]> copy(new char[n]);
      text.copy(copy.get(), n);
      // The same bytes with others behind them.
      const std::string longer = text.substr(0, n) + "xxxxxxxxxxxxxxxxxxxxxxxx";
      for (const ml::Target target : ml::available_targets()) {
        const Ids ids = tokenizer->encode({copy.get(), n}, {.target = target});
        CHECK(ids == tokenizer->encode(std::string_view(longer).substr(0, n), {.target = target}));
      }
    }
  }
}
