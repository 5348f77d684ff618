#include "catch.hpp"
#include "data.hpp"

#include <ml/tokenizer.hpp>

#include "tokenizer/nfc.hpp"
#include "util/utf8.hpp"

#include <random>
#include <thread>

// Cases in which tokenizers have gone wrong; ids are those of the `tokenizers` library.

namespace {

using Ids = std::vector<std::uint32_t>;

ml::Tokenizer open(const std::string& path) {
  auto tokenizer = ml::Tokenizer::open(path);
  if (!tokenizer) FAIL(ml::describe(tokenizer.error()));
  return std::move(*tokenizer);
}

ml::Tokenizer shipped(const std::string& name) {
  return open(data_path("tokenizers/" + name + "/tokenizer.json"));
}

}  // namespace

TEST_CASE("runs of tabs and blanks, at the beginning and around added tokens", "[tokenizer]") {
  const auto check = [](const char* name, const std::vector<std::pair<std::string, Ids>>& rows) {
    const ml::Tokenizer tokenizer = shipped(name);
    for (const auto& [text, ids] : rows) {
      INFO(name << ": " << text);
      CHECK(tokenizer.encode(text, {.bos = false}) == ids);
    }
  };
  check("sp_legacy", {{"\t\t\t", {259, 12, 12, 12}},
                      {"a\t\tb\tc", {350, 12, 12, 307, 12, 299}},
                      {"  \t  x", {1248, 12, 259, 439}},
                      {"   Hello", {1248, 554}},
                      {" <s> ", {1247, 1, 1247}},
                      {"<s> 123", {1, 259, 404}},
                      {"a </s> b", {350, 259, 2, 259, 393}},
                      {"  </s>  x", {1248, 2, 1247, 439}}});
  check("sp_noprefix_gemma", {{"\t\t\t", {12, 12, 12}},
                              {"  \t  x", {1247, 12, 259, 439}},
                              {"<s> 123", {1, 404}},
                              {"a </s> b", {297, 259, 2, 393}},
                              {"  <start_of_turn>  x", {1247, 1262, 259, 439}},
                              {"  \n\n  x", {1247, 1264, 259, 439}}});
  check("l3_bos", {{"\t\t\t", {614}},
                   {"  \t  x", {256, 1166, 474}},
                   {"           leading", {258, 256, 1093, 1470}},
                   {"a <|begin_of_text|> b", {64, 220, 1756, 326}},
                   {"  <|im_start|>  x", {256, 1758, 220, 474}}});
  check("smollm", {{"\t\t\t", {27655}},
                   {"  \t  x", {256, 197, 216, 1792}},
                   {"           leading", {16778, 2899}},
                   {"a <|im_start|> b", {81, 216, 1, 278}},
                   {"  <|endoftext|>  x", {256, 0, 216, 1792}}});
  check("gpt2", {{"\t\t\t", {197, 197, 197}},
                 {"  \t  x", {220, 220, 197, 220, 2124}},
                 {"  <|endoftext|>  x", {220, 220, 50256, 220, 2124}}});
  // What stands behind an added token is a text of its own, however many blanks it begins with.
  for (const auto& [name, added] :
       {std::pair("sp_legacy", "<s>"), std::pair("sp_noprefix_gemma", "<start_of_turn>"),
        std::pair("l3_bos", "<|im_start|>"), std::pair("qwen_nonfc", "<|im_start|>"),
        std::pair("smollm", "<|im_start|>"), std::pair("gpt2", "<|endoftext|>")}) {
    const ml::Tokenizer tokenizer = shipped(name);
    const auto id = tokenizer.find_added(added);
    REQUIRE(id);
    for (const std::string run :
         {"\t", "\t\t\t\t\t\t", " ", "   ", " \t ", "\t  \t\t", "                \t", "\n\t\t"}) {
      INFO(name << ": '" << run << "'");
      const std::string text = run + "test";
      Ids expected = tokenizer.encode(text, {.bos = false});
      expected.insert(expected.begin(), *id);
      CHECK(tokenizer.encode(added + text, {.bos = false}) == expected);
      if (std::string_view(name) == "sp_noprefix_gemma")
        continue;  // its decoder drops a blank that came from no prefix
      CHECK(tokenizer.decode(tokenizer.encode(text, {.bos = false})) == text);
    }
  }
}

TEST_CASE("text goes through ids and back as it was", "[tokenizer]") {
  for (const char* name : {"sp_legacy", "gpt2", "l3_bos"}) {
    const ml::Tokenizer tokenizer = shipped(name);
    for (const std::string text : {"! ! !", " a , b .", "do n't", "  two", "\n\n", "x\u00A0y", "tab\there"}) {
      INFO(name << ": " << text);
      const Ids ids = tokenizer.encode(text, {.bos = false});
      CHECK(tokenizer.decode(ids) == text);
      CHECK(tokenizer.encode(tokenizer.decode(ids), {.bos = false}) == ids);
    }
  }
}

TEST_CASE("a byte token's name is ordinary text", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("sp_legacy");
  const Ids newline = tokenizer.encode("\n", {.bos = false});
  REQUIRE(newline.size() == 2);  // the prefix and the byte
  CHECK(tokenizer.attr(newline[1]) == ml::TokenAttr::byte);
  for (const std::uint32_t id : tokenizer.encode("<0x0A>", {.bos = false})) CHECK(id != newline[1]);
}

TEST_CASE("a long s ends a contraction where case does not matter", "[tokenizer]") {
  // it's, written with U+017F: the same pieces as with s, so the letters behind it stand alone.
  const ml::Tokenizer llama3 = shipped("l3_bos");
  Ids parts = llama3.encode("it", {.bos = false});
  for (const char* rest : {"'\u017f", "x"}) {
    for (const std::uint32_t id : llama3.encode(rest, {.bos = false})) parts.push_back(id);
  }
  CHECK(llama3.encode("it'\u017fx", {.bos = false}) == parts);
}

TEST_CASE("a character is shown when all of it is there", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("sp_legacy");
  const Ids ids = tokenizer.encode("\uAE70!", {.bos = false});  // no token: three bytes
  ml::StreamDecoder stream(tokenizer);
  std::string shown;
  std::size_t n_shown = 0;
  for (const std::uint32_t id : ids) {
    const std::string piece = stream.push({&id, 1});
    CHECK((piece.empty() || piece == "\uAE70!"));
    n_shown += !piece.empty();
    shown += piece;
  }
  CHECK(shown + stream.finish() == "\uAE70!");
  CHECK(n_shown == 1);
}

TEST_CASE("bytes without a token vanish", "[tokenizer]") {
  const ml::Tokenizer smollm = shipped("smollm");
  CHECK(smollm.encode("x\x04y") == Ids{104, 105});
  CHECK(smollm.encode("\U00040000") == Ids{218, 218, 218});
  const Ids joined = smollm.encode("--");
  REQUIRE(joined.size() == 1);
  CHECK(smollm.encode("-\x04-") == joined);  // what stood around it merges
}

TEST_CASE("the leftmost, then the longest added token wins", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("l3_overlap_added");
  CHECK(tokenizer.encode("<a>b<a><a>xyzw  ") == Ids{1757, 1759, 1761, 86, 1760});
  CHECK(tokenizer.encode("xyz", {.added = false}) != Ids{1761});
  CHECK(tokenizer.find_added("<a><a>") == 1759u);
  CHECK_FALSE(tokenizer.find_added("<a"));
  CHECK_FALSE(tokenizer.find_added(""));
}

TEST_CASE("each stretch between added tokens is normalized alone", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("l3_nfc");
  Ids parts = tokenizer.encode("e\u0301");
  CHECK(parts == tokenizer.encode("é"));
  parts.push_back(1759);
  // Over the whole text U+0338 would join the '>' and hide the token.
  for (const std::uint32_t id : tokenizer.encode("\u0338\u0301")) parts.push_back(id);
  CHECK(tokenizer.encode("e\u0301<think>\u0338\u0301") == parts);
}

TEST_CASE("a trained model's tokenizer", "[tokenizer]") {
  const ml::Tokenizer tokenizer = open(data_path("models/stories260K"));
  const Ids ids = {1, 403, 407, 261, 378};
  CHECK(tokenizer.encode("Once upon a time") == ids);
  CHECK(tokenizer.decode(Ids(ids.begin() + 1, ids.end())) == "Once upon a time");
  CHECK(tokenizer.bos() == 1u);
  CHECK(tokenizer.eos() == 2u);
  CHECK(tokenizer.encode("", {.bos = true}) == Ids{1});
  CHECK(tokenizer.encode("", {.bos = false}).empty());
  CHECK(tokenizer.attr(2) == ml::TokenAttr::added);
  CHECK(tokenizer.piece(1) == "<s>");
  CHECK(tokenizer.piece(99999).empty());
}

TEST_CASE("a prefix space is of the text only where the text has one", "[tokenizer]") {
  const auto packed = ml::pack_tokenizer(data_path("tokenizers/sp_legacy/tokenizer.json"));
  REQUIRE(packed);
  auto bytes = packed->bytes;
  const auto with_flags = [&](std::uint8_t flags) {
    bytes[28] = std::byte{flags};
    auto tokenizer = ml::Tokenizer::from_bytes(bytes);
    REQUIRE(tokenizer);
    return *tokenizer;
  };
  const ml::Tokenizer legacy = with_flags(0), first = with_flags(4);
  CHECK(first.encode(" hello") == first.encode("hello"));
  CHECK(first.encode("\u2581hello") == first.encode("hello"));
  CHECK(legacy.encode(" hello").size() >= legacy.encode("hello").size());
  CHECK(legacy.encode(" hello") != legacy.encode("hello"));
  // Behind an added token only the legacy rule adds one.
  Ids behind = legacy.encode("hello");
  behind.insert(behind.begin(), 1, 1);
  CHECK(legacy.encode("<s>hello") == behind);
  CHECK(first.encode("<s> hello") == behind);
  CHECK(first.encode("<s>hello") != behind);
  CHECK(legacy.encode("<s>") == Ids{1});  // nothing, so no prefix
  CHECK(first.encode("<s></s>") == Ids{1, 2});
  CHECK(legacy.encode("\u2581hello") == legacy.encode(" hello"));
  CHECK(legacy.decode(legacy.encode("  two")) == "  two");
  CHECK(legacy.decode(legacy.encode(" a b ")) == " a b ");
}

TEST_CASE("bytes that are not UTF-8 encode as U+FFFD", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("l3_bos");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a\xFF\x62", "a\uFFFD\x62"},
      {"\xC3", "\uFFFD"},
      {"\xE2\x96", "\uFFFD"},
      {"\xE2\x96 x", "\uFFFD x"},
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xF0\x9F\x98 \x80", "\uFFFD \uFFFD"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xC0\xAF", "\uFFFD\uFFFD"},
      {"\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {std::string("\0x", 2), std::string("\0x", 2)}};
  for (const auto& [bytes, text] : rows) CHECK(tokenizer.encode(bytes) == tokenizer.encode(text));
  CHECK(ml::find_invalid_utf8("12345678901\xC3 ") == 11u);
  CHECK_FALSE(ml::find_invalid_utf8("12345678901é"));
}

TEST_CASE("a stream never ends inside a character", "[tokenizer]") {
  for (const char* name : {"l3_bos", "sp_legacy", "gpt2"}) {
    const ml::Tokenizer tokenizer = shipped(name);
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      Ids ids(random() % 40);
      for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(random() % (tokenizer.n_vocab() + 2));
      // Byte tokens are few: draw them more often.
      for (std::uint32_t& id : ids) {
        if (random() % 2 == 0) id %= 260;
      }
      ml::StreamDecoder stream(tokenizer);
      std::string joined;
      for (std::size_t at = 0; at < ids.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 4, ids.size() - at);
        const std::string piece = stream.push(std::span(ids).subspan(at, n));
        CHECK_FALSE(ml::find_invalid_utf8(piece));
        joined += piece;
        at += n;
      }
      joined += stream.finish();
      CHECK(joined == tokenizer.decode(ids));
      CHECK_FALSE(ml::find_invalid_utf8(joined));
      CHECK(stream.finish().empty());
    }
  }
}

TEST_CASE("long words take no quadratic time", "[tokenizer]") {
  std::mt19937 random(3);
  std::string letters(1 << 20, 'a');
  for (char& c : letters) c = static_cast<char>('a' + random() % 26);
  for (const char* name : {"gpt2", "sp_legacy", "l3_nfc"}) {
    const ml::Tokenizer tokenizer = shipped(name);
    for (const std::string& text : {std::string(5000000, 'a'), letters, std::string(1000000, '^'),
                                    std::string(1000000, ' '), std::string(1000000, '\n')}) {
      const Ids ids = tokenizer.encode(text, {.bos = false});
      CHECK(tokenizer.decode(ids) == text);
    }
  }
}

TEST_CASE("a constant tokenizer serves many threads", "[tokenizer]") {
  const ml::Tokenizer tokenizer = shipped("gpt2");
  const std::string text = read_file(data_path("README.md"));
  const Ids ids = tokenizer.encode(text);
  std::vector<std::thread> threads;
  std::array<bool, 4> same = {};
  for (std::size_t i = 0; i < same.size(); ++i) {
    threads.emplace_back([&, i] {
      same[i] = true;
      for (int round = 0; round < 20; ++round) same[i] = same[i] && tokenizer.encode(text) == ids;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::array<bool, 4>{true, true, true, true});
}

TEST_CASE("normal form C", "[tokenizer]") {
  const std::vector<std::pair<std::string, std::string>> rows = {{"plain", "plain"},
                                                                 {"e\u0301", "é"},
                                                                 {"xe\u0301y", "xéy"},
                                                                 {"\u0301", "\u0301"},
                                                                 {"e\u0301\u0323", "\u1EB9\u0301"},
                                                                 {"\u1112\u1161\u11AB", "한"},
                                                                 {"\uAC00\u11A8", "각"},
                                                                 {"\u212B", "\u00C5"},
                                                                 {"\u0344", "\u0308\u0301"},
                                                                 {"\u0958", "\u0915\u093C"},
                                                                 {"a\u08D0\u0301", "a\u08D0\u0301"},
                                                                 {"é\u0323 e\u0301", "\u1EB9\u0301 é"}};
  std::string scratch;
  for (const auto& [text, form] : rows) CHECK(ml::normalize_nfc(text, scratch) == form);
}

TEST_CASE("a tokenizer from mutated bytes is refused or works", "[tokenizer]") {
  std::mt19937 random(11);
  const std::string text = "Once upon a time,\n\n 1234 dögs'll <s>\xff\xf0\x9f\x98\x80 e\u0301 run.  ";
  for (const char* name : {"sp_legacy", "l3_overlap_added", "gpt2_digits"}) {
    const std::string json = read_file(data_path(std::string("tokenizers/") + name + "/tokenizer.json"));
    const auto packed = ml::pack_tokenizer(data_path(std::string("tokenizers/") + name));
    REQUIRE(packed);
    for (int round = 0; round < 600; ++round) {
      std::vector<std::byte> bytes = packed->bytes;
      if (round % 3 == 0) {
        const auto* begin = reinterpret_cast<const std::byte*>(json.data());
        bytes.assign(begin, begin + json.size());
      }
      for (unsigned n = 1 + static_cast<unsigned>(random() % 4); n > 0; --n) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      const auto tokenizer = ml::Tokenizer::from_bytes(bytes);
      if (!tokenizer) {
        CHECK_FALSE(tokenizer.error().message.empty());
        continue;
      }
      const Ids ids = tokenizer->encode(text);
      for (const std::uint32_t id : ids) CHECK(id < tokenizer->n_vocab());
      CHECK_FALSE(ml::find_invalid_utf8(tokenizer->decode(ids)));
    }
  }
}
