#include "catch.hpp"

#include "tokenizer/pre_tokenizer.hpp"

#include <ml/tokenizer.hpp>

#include <random>
#include <string>
#include <vector>

// The masks of 64 bytes cut text as the scanners do, on every target.

namespace {

using Ends = std::vector<std::size_t>;

Ends scanner_ends(const ml::PreTokenizer& pre, const std::string& text) {
  Ends ends;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* const stretch = pre.stretch ? pre.stretch(at, end) : end;
    while (at != stretch) {
      at = pre.piece(at, stretch);
      ends.push_back(static_cast<std::size_t>(at - text.data()));
    }
  }
  return ends;
}

// As an encoder does it: the masks as far as they go, then one piece of the scanner.
Ends mask_ends(const ml::PreTokenizer& pre, ml::spans::Find find, const std::string& text,
               std::size_t& n_found) {
  Ends ends;
  std::vector<std::uint32_t> found(256);
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    std::size_t n = 0;
    const auto from = static_cast<std::uint32_t>(at - text.data());
    at += find(at, static_cast<std::size_t>(end - at), from, found.data(), found.size(), &n);
    ends.insert(ends.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n));
    n_found += n;
    CHECK((n == 0 || ends.back() == static_cast<std::size_t>(at - text.data())));
    if (n != 0) continue;
    at = pre.piece(at, pre.stretch ? pre.stretch(at, end) : end);
    ends.push_back(static_cast<std::size_t>(at - text.data()));
  }
  return ends;
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> parts = {
      "a",  "B",    "word", "Word",  "wORD",     "WORD",     "1",  "12",     "1234", " ",
      " ",  " ",    "  ",   "\n",    "\r\n",     "\t",       "\v", "'",      "''",   "'s",
      "'S", "'ll",  "'Re",  "'d",    "'x",       "'\u017f",  ".",  "...",    "/",    "(",
      "_",  "\x01", "\x7f", "\x1f",  "é",        "\u0301",   "中", "\u00a0", "½",    "\u2028",
      "//", "\n/",  "-\n",  ";\n\n", "\n \n  x", "        ", "=\t"};
  std::string text;
  const std::size_t n = random() % 120;
  for (std::size_t i = 0; i < n; ++i) {
    // Some texts are ASCII, so that whole blocks are.
    const std::string& part = parts[random() % parts.size()];
    const std::size_t repeat = random() % 40 == 0 ? 1 + random() % 80 : 1;
    for (std::size_t k = 0; k < repeat; ++k) text += part;
    if (random() % 400 == 0) text += static_cast<char>(random() % 128);
  }
  return text;
}

}  // namespace

TEST_CASE("masks cut text as scanners do", "[tokenizer]") {
  std::mt19937 random(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 4000; ++i) {
    texts.push_back(random_text(random));
    if (i % 2 == 0) std::erase_if(texts.back(), [](char c) { return static_cast<signed char>(c) < 0; });
  }
  for (const std::uint32_t flags :
       {ml::kMltGpt2, ml::kMltGpt2 | ml::kMltSplitDigits, 0u, ml::kMltSingleDigits, ml::kMltSplitDigits,
        ml::kMltMarks, ml::kMltMarks | ml::kMltSingleDigits, ml::kMltO200k, ml::kMltDeepSeek}) {
    const ml::PreTokenizer pre = ml::pre_tokenizer_for(flags);
    for (const ml::Target target : ml::available_targets()) {
      const ml::spans::Find find = ml::ascii_spans_for(pre.ascii, target);
      CHECK((find == nullptr) == (target == ml::Target::scalar));
      if (find == nullptr) continue;
      std::size_t n_found = 0;
      for (const std::string& text : texts) {
        INFO(flags << " " << text);
        REQUIRE(mask_ends(pre, find, text, n_found) == scanner_ends(pre, text));
      }
      CHECK(n_found > 10000);
    }
  }
}

TEST_CASE("each pattern cuts by its own rules", "[tokenizer]") {
  struct Row {
    std::uint32_t flags;
    std::string text;
    Ends ends;
  };
  for (const Row& row : std::vector<Row>{
           {0, "12345", {3, 5}},
           {ml::kMltSingleDigits, "123", {1, 2, 3}},
           {ml::kMltGpt2, "12345", {5}},
           {0, "it'Sx", {2, 4, 5}},  // only GPT-2's contractions know their case
           {ml::kMltGpt2, "it'Sx", {2, 3, 5}},
           {0, "e\u0301x", {1, 4}},
           {ml::kMltMarks | ml::kMltSingleDigits, "e\u0301x", {4}},
           {ml::kMltGpt2, "a   1", {1, 3, 5}},  // a digit that is cut out ends the text before it
           {ml::kMltGpt2 | ml::kMltSplitDigits, "a   1", {1, 4, 5}},
           {ml::kMltSplitDigits, "a   1", {1, 4, 5}},
           {ml::kMltSplitDigits, "!12!", {1, 2, 3, 4}},
           {ml::kMltGpt2, "!\U00011DE0!", {6}},  // a digit for Digits alone: the regex's Unicode is older
           {ml::kMltGpt2 | ml::kMltSplitDigits, "!\U00011DE0!", {1, 5, 6}},
           {0, "a\u0085\u0085b", {1, 3, 6}},
           {0, "a\u200Bb", {1, 5}},
       }) {
    INFO(row.flags << " " << row.text);
    CHECK(scanner_ends(ml::pre_tokenizer_for(row.flags), row.text) == row.ends);
  }
}

TEST_CASE("a pattern without masks leaves all to the scanners", "[tokenizer]") {
  const ml::PreTokenizer pre = ml::pre_tokenizer_for(ml::kMltO200k | ml::kMltSplitDigits);
  for (const ml::Target target : ml::available_targets())
    CHECK(ml::ascii_spans_for(pre.ascii, target) == nullptr);
}
