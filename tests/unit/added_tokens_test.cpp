#include "catch.hpp"

#include "tokenizer/added_tokens.hpp"

#include <ctime>
#include <map>
#include <random>
#include <string>

namespace {

using Match = std::tuple<std::size_t, std::size_t, std::uint32_t>;

std::vector<Match> matches(const ml::AddedTokens& tokens, std::string_view text) {
  std::vector<Match> all;
  ml::AddedTokens::Search search(tokens, text);
  std::size_t at = 0;
  while (const auto match = search.next(at)) {
    all.emplace_back(match->begin, match->end, match->id);
    at = match->end;
  }
  return all;
}

// The definition: at each place the longest that begins there.
std::vector<Match> plain_matches(const std::map<std::string, std::uint32_t>& tokens, std::string_view text) {
  std::vector<Match> all;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t longest = 0;
    std::uint32_t found = 0;
    for (const auto& [token, id] : tokens) {
      if (token.size() > longest && text.substr(at).starts_with(token)) {
        longest = token.size();
        found = id;
      }
    }
    if (longest > 0) all.emplace_back(at, at + longest, found);
    at += std::max<std::size_t>(longest, 1);
  }
  return all;
}

double seconds_of(const auto& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("added tokens are found as their definition says", "[tokenizer]") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto letters = [&](std::size_t n, std::size_t n_letters) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += static_cast<char>('a' + below(n_letters));
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    const std::size_t n_letters = 1 + below(3);
    std::map<std::string, std::uint32_t> plain;
    ml::AddedTokens tokens;
    std::vector<std::string> contents;
    for (std::size_t i = 0; i <= below(6); ++i) contents.push_back(letters(1 + below(12), n_letters));
    // Long ones that begin often and rarely end: the search turns to stretches.
    if (round % 2 == 0) contents.push_back(std::string(40 + below(100), 'a') + "c");
    if (round % 4 == 0) contents.push_back(std::string(70'000, 'a') + "c");
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const auto id = static_cast<std::uint32_t>(i);
      plain.emplace(contents[i], id);
      tokens.insert(contents[i], id);
    }
    std::string text = letters(below(200), n_letters);
    if (round % 4 == 0) text += std::string(100'000 + below(40'000), 'a') + letters(300, 3);
    if (round % 8 == 0) text += std::string(70'010, 'a') + "cb" + letters(5, 3);
    CHECK(matches(tokens, text) == plain_matches(plain, text));
    for (const auto& [token, id] : plain) CHECK(tokens.find(token) == id);
    CHECK_FALSE(tokens.find(text + "d"));
    // Holding one, or ending with the beginning of one.
    for (const std::string& other : {letters(4, 3), letters(9, 2), std::string("ddc"), std::string("da")}) {
      bool expected = !plain_matches(plain, other).empty();
      for (const auto& [token, id] : plain) {
        for (std::size_t n = 1; n <= std::min(token.size(), other.size()); ++n)
          expected = expected || other.ends_with(token.substr(0, n));
      }
      CHECK(tokens.may_overlap({other})[0] == expected);
    }
  }
}

TEST_CASE("finding added tokens takes linear time", "[tokenizer]") {
  const std::string text(1'000'000, 'a');
  const std::string long_one = std::string(400'000, 'a') + "b";
  const std::string other = std::string(300'000, 'a') + "d";
  ml::AddedTokens tokens;
  tokens.insert(long_one, 0);
  tokens.insert("c", 1);
  CHECK(seconds_of([&] { CHECK(matches(tokens, text).empty()); }) < 3);
  CHECK(seconds_of([&] { CHECK(tokens.may_overlap({text, other}) == std::vector<bool>{true, false}); }) < 3);
  // Where a short one matches, the long one is tried again a byte later.
  ml::AddedTokens both;
  both.insert(long_one, 0);
  both.insert("a", 1);
  CHECK(seconds_of([&] { CHECK(matches(both, text).size() == text.size()); }) < 3);
  // Each step passes over all the children that a node can have.
  ml::AddedTokens wide;
  std::vector<std::string> contents;
  for (std::size_t n = 1; n < 100; ++n) {
    for (int byte = 0; byte < 256; ++byte) {
      if (byte != 'a') contents.push_back(std::string(n, 'a') + static_cast<char>(byte));
    }
  }
  for (std::size_t i = 0; i < contents.size(); ++i) wide.insert(contents[i], static_cast<std::uint32_t>(i));
  CHECK(seconds_of([&] { CHECK(matches(wide, text).empty()); }) < 3);
}
