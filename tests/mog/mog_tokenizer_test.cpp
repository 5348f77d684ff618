// The tokenizer section: the same ids and texts as the .mlt, from the mapped bytes; every defect by name.

#include "formats/mog_tokenizer.hpp"
#include "convert/tokenizer.hpp"
#include "mog_support.hpp"
#include "tokenizer/tokenizer_impl.hpp"
#include "util/bytes.hpp"
#include "util/utf8.hpp"

#include <random>

using namespace ml;

namespace {

// Every tokenizer.json of tests/data that a .mlt can say.
std::vector<std::string> tokenizer_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("tokenizers"))) {
    if (load_tokenizer(entry.path().string(), {})) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// What ml::Tokenizer does with a section, without a model around it.
Tokenizer mapped(const std::vector<std::byte>& section) {
  // A .mog of the smallest model would do as well; the section is put into one.
  const TempFolder folder;
  pack_mog(recipe_path("llama"), data_path("oracle/llama3-gqa-tied"), folder.file("a.mog"));
  std::string file = read_file(folder.file("a.mog"));
  const auto get = [&](std::uint64_t at) { return load_le<std::uint64_t>(file.data() + at); };
  const auto put = [&](std::uint64_t at, std::uint64_t value) { store_le(file.data() + at, value); };
  const std::uint64_t added = (section.size() + 63) / 64 * 64;
  const std::uint64_t directory = get(32);
  const std::uint64_t n_records = load_le<std::uint32_t>(file.data() + 40);
  put(16, directory);
  put(24, section.size());
  put(32, directory + added);
  put(48, get(48) + added);
  for (std::uint64_t i = 0; i < n_records; ++i) {
    const std::uint64_t at = directory + 64 * i;
    if (get(at) != 0) put(at, get(at) + added);
    if (get(at + 8) != 0) put(at + 8, get(at + 8) + added);
  }
  std::string padded(as_text(section));
  padded.resize(added, '\0');
  file.insert(directory, padded);
  auto tokenizer = Tokenizer::from_bytes(std::as_bytes(std::span(file)));
  if (!tokenizer) FAIL(describe(tokenizer.error()));
  return *std::move(tokenizer);
}

std::vector<std::string> texts() {
  std::vector<std::string> all{"",
                               " ",
                               "  two  spaces ",
                               "Hello, world!",
                               "It's 12345 o'clock\n\n\tand 67.",
                               "Zoë – naïve café, Straße, Ωmega",
                               "日本語のテキスト",
                               "😀👩‍👩‍👧",
                               "<|endoftext|>x<s>y</s> <|eot_id|>",
                               "\xE2\x96\x81marked\xE2\x96\x81",
                               std::string("nul\0inside", 10),
                               "bad \xFF\xC3 bytes",
                               "e\xCC\x81 decomposed"};
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (auto n = random() % 60; n > 0; --n) {
      const auto kind = random() % 8;
      if (kind < 5) text += static_cast<char>(32 + random() % 95);
      if (kind == 5) text += ' ';
      if (kind == 6) append_utf8(text, static_cast<char32_t>(0xA0 + random() % 0x2000));
      if (kind == 7) text += static_cast<char>(random());
    }
    all.push_back(text);
  }
  return all;
}

}  // namespace

TEST_CASE("ids and texts from a .mog are those of the .mlt", "[mog][tokenizer]") {
  const auto paths = tokenizer_paths();
  REQUIRE(paths.size() >= 10);
  for (const std::string& path : paths) {
    INFO(path);
    const auto table = Tokenizer::open(path);
    REQUIRE(table);
    const auto loaded = load_tokenizer(path, {});
    const auto section = write_mog_tokenizer(loaded->contents);
    REQUIRE(section);
    const Tokenizer own = mapped(*section);
    CHECK(own.n_vocab() == table->n_vocab());
    CHECK(own.n_merges() == table->n_merges());
    CHECK(own.bos() == table->bos());
    CHECK(own.eos() == table->eos());
    CHECK(own.flags() == table->flags());
    for (const std::string& text : texts()) {
      INFO(text);
      for (const bool added : {true, false}) {
        const auto ids = table->encode(text, {.added = added});
        CHECK(own.encode(text, {.added = added}) == ids);
        CHECK(own.decode(ids) == table->decode(ids));
      }
    }
    bool equal = true;
    for (std::uint32_t id = 0; id < own.n_vocab(); ++id)
      equal = equal && own.piece(id) == table->piece(id) && own.attr(id) == table->attr(id);
    CHECK(equal);
  }
}

TEST_CASE("a mapped tokenizer makes no table of its vocabulary or merges", "[mog][tokenizer]") {
  const auto loaded = load_tokenizer(data_path("tokenizers/gpt2"), {});
  REQUIRE(loaded);
  const auto section = write_mog_tokenizer(loaded->contents);
  REQUIRE(section);
  const auto tokens = MogTokens::read(*section);
  REQUIRE(tokens);
  const TokenizerImpl impl(*tokens, nullptr);
  CHECK(impl.contents.merges.empty());
  CHECK(impl.char_tokens.empty());
  CHECK(impl.byte_rules.empty());
  CHECK(impl.contents.tokens.size() == loaded->contents.tokens.size());
}

TEST_CASE("of equal texts a .mog finds the id that the .mlt finds", "[mog][tokenizer]") {
  constexpr TokenAttr kAttrs[] = {TokenAttr::normal, TokenAttr::added};
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    MltContents contents{.kind = round % 2 ? TokenizerKind::byte_level : TokenizerKind::sentencepiece,
                         .flags = round % 4 < 2 ? 0u : std::uint32_t{kMltIgnoreMerges}};
    const std::vector<std::string> parts{"a", "b", "ab", "ba", "\xE2\x96\x81"};
    for (int i = 0; i < 24; ++i) contents.tokens.push_back(kAttrs[random() % 2], parts[random() % 5]);
    for (std::uint32_t left = 0; left < 24; ++left) {
      for (std::uint32_t right = 0; right < 24; ++right) {
        for (std::uint32_t merged = 0; merged < 24; ++merged) {
          if (random() % 4 == 0 && contents.tokens.joins(left, right, merged))
            contents.merges.push_back({left, right, merged});
        }
      }
    }
    const auto table = Tokenizer::from_bytes(*write_mlt(contents));
    REQUIRE(table);
    const Tokenizer own = mapped(*write_mog_tokenizer(contents));
    for (const char* text : {"a", "b", "ab", "ba", "abba baab", "b a b aba"}) {
      INFO(text);
      for (const bool added : {true, false})
        CHECK(own.encode(text, {.added = added}) == table->encode(text, {.added = added}));
    }
  }
}

TEST_CASE("very many ids of one text, none of them in use, are passed over at once", "[mog][tokenizer]") {
  MltContents contents{.kind = TokenizerKind::sentencepiece, .flags = kMltNoPrefix};
  for (int i = 0; i < 200'000; ++i) contents.tokens.push_back(TokenAttr::added, "a");
  contents.tokens.push_back(TokenAttr::normal, "b");
  const Tokenizer own = mapped(*write_mog_tokenizer(contents));
  CHECK(own.encode(std::string(200'000, 'a') + "b", {.added = false}) == std::vector{200'000u});
}

TEST_CASE("every defect of a tokenizer section has its message", "[mog][tokenizer]") {
  MltContents contents{.kind = TokenizerKind::byte_level, .bos = 1};
  for (const char* text : {"a", "b", "ab", "aba", "", "b"})
    contents.tokens.push_back(TokenAttr::normal, text);
  contents.merges = {{1, 0, 0}, {0, 1, 2}, {2, 0, 3}};
  contents.merges.erase(contents.merges.begin());
  const auto section = write_mog_tokenizer(contents);
  REQUIRE(section);
  REQUIRE(MogTokens::read(*section));
  // 6 tokens: starts at 32, attrs at 60, sorted at 68, merges at 92, text at 124.
  REQUIRE(section->size() == 124 + 8);
  const std::tuple<std::uint64_t, std::uint32_t, const char*> rows[] = {
      {0, 0, "kind is 0, must be 1 or 2"},
      {4, 7, "section is 132 bytes"},
      {8, 3, "section is 132 bytes"},
      {24, 9, "section is 132 bytes"},
      {28, 1, "last word of the header is 1"},
      {36, 5, "text of token 2 begins at"},
      {56, 7, "text of token 6 begins at 7"},
      {60, 3, "attr is 3"},
      {64, 1u << 24, "padding after the attrs is not zero"},
      {68, 6, "sorted id 0 is 6, must be below n_vocab"},
      {72, 2, "whose text must come after"},
      {92, 9, "left is 9"},
      {100, 3, "whose bytes are not those"},
      {104, 1, "rank is 1, must be one of its own"},
      {104, 2, "rank is 2, must be one of its own"},
      {92, 2, "whose bytes are not those"},
  };
  for (const auto& [at, value, message] : rows) {
    auto bad = *section;
    store_le(bad.data() + at, value);
    const auto read = MogTokens::read(bad);
    INFO(at << " " << value);
    REQUIRE_FALSE(read);
    INFO(read.error().message);
    CHECK(read.error().message.find(message) != std::string::npos);
  }
  // A check goes on: the last word, a token, the padding, one of the order, a rule, a rank.
  auto many = *section;
  const std::pair<std::uint64_t, std::uint32_t> changes[] = {{28, 1}, {60, 3}, {64, 1u << 24}, {72, 2},
                                                             {76, 9}, {92, 9}, {104, 7}};
  for (const auto& [at, value] : changes) store_le(many.data() + at, value);
  DefectList defects;
  CHECK(MogTokens::read(many, &defects));
  std::string found;
  for (const Error& defect : defects.take()) found += defect.message + "\n";
  INFO(found);
  for (const char* message : {"last word of the header is 1", "token 0: attr is 3", "padding after the attrs",
                              "sorted id 2 is 9, must be below", "merge 0: left is 9", "merge 0: rank is 7"})
    CHECK(found.find(message) != std::string::npos);
  many = *section;
  for (std::uint64_t at = 36; at < 56; at += 4) store_le(many.data() + at, 9u);
  CHECK(MogTokens::read(many, &defects));
  CHECK(defects.take().size() == 5);
  for (std::uint32_t id = 0; id < 6; ++id) {  // six times
    many = *section;
    for (std::uint64_t at = 68; at < 92; at += 4) store_le(many.data() + at, id);
    CHECK(MogTokens::read(many, &defects));
    CHECK(defects.take().size() == 5);
  }
  auto swapped = *section;  // the two merges in the wrong order
  std::swap_ranges(swapped.begin() + 92, swapped.begin() + 108, swapped.begin() + 108);
  const auto read = MogTokens::read(swapped);
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("must come after 2 and 0") != std::string::npos);
}

TEST_CASE("mlt-encode's tokenizer opens a .mog by its path, and says where there is none",
          "[mog][tokenizer]") {
  const TempFolder folder;
  pack_mog(recipe_path("qwen3"), data_path("models/qwen3-stories"), folder.file("with.mog"));
  pack_mog(recipe_path("qwen3"), data_path("oracle/qwen3-headdim"), folder.file("without.mog"));
  const auto own = Tokenizer::open(folder.file("with.mog"));
  REQUIRE(own);
  const auto table = Tokenizer::open(data_path("models/qwen3-stories"));
  const std::string story = "Once upon a time, there was a little girl named Lily.";
  CHECK(own->encode(story) == table->encode(story));
  const auto none = Tokenizer::open(folder.file("without.mog"));
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "the .mog holds no tokenizer");
  CHECK(mog_holds_tokenizer(folder.file("with.mog")));
  CHECK_FALSE(mog_holds_tokenizer(folder.file("without.mog")));
  CHECK_FALSE(mog_holds_tokenizer(folder.path()));
}
