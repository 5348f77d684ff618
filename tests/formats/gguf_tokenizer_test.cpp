// Tokenizers of GGUF files: those of tests/data written as GGUF, every broken rule, and, where a folder of
// llama.cpp's vocabularies is there (ML_TEST_LLAMA_VOCABS), the ids beside them.

#include "formats/gguf_builder.hpp"

#include "catch.hpp"
#include "convert/tokenizer.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "tokenizer/nfc.hpp"
#include "util/bytes.hpp"

#include <ml/chat.hpp>
#include <ml/generation.hpp>
#include <ml/tokenizer.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <sstream>

using namespace ml;
using nlohmann::json;

namespace {

constexpr std::int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

struct Tokens {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types;

  void put(std::size_t id, const std::string& text, std::int32_t type) {
    while (texts.size() <= id) {
      texts.push_back("[PAD" + std::to_string(texts.size()) + "]");
      types.push_back(kUnused);
    }
    texts[id] = text;
    types[id] = type;
  }
};

using MoreTokens = std::vector<std::pair<std::string, std::int32_t>>;

// A tokenizer.json in the words of a GGUF file.
// @param more  behind its tokens
GgufBuilder as_gguf(const json& document, const std::string& pre, const MoreTokens& more = {}) {
  Tokens tokens;
  for (const auto& [text, id] : document["model"]["vocab"].items()) {
    const bool byte = pre.empty() && text.size() == 6 && text.starts_with("<0x");
    tokens.put(id.get<std::size_t>(), text, byte ? kByte : kNormal);
  }
  for (const json& one : document["added_tokens"]) {
    tokens.put(one["id"].get<std::size_t>(), one["content"].get<std::string>(),
               one["special"] == true ? kControl : kUserDefined);
  }
  for (const auto& [text, type] : more) tokens.put(tokens.texts.size(), text, type);
  std::vector<std::string> merges;
  std::map<std::string, std::size_t> ranks;
  for (const json& rule : document["model"]["merges"]) {
    std::string text = rule.is_string() ? rule.get<std::string>()
                                        : rule[0].get<std::string>() + " " + rule[1].get<std::string>();
    std::string joined = text;
    joined.erase(joined.find(' '), 1);
    ranks.emplace(joined, merges.size());
    merges.push_back(std::move(text));
  }
  GgufBuilder file;
  file.add("tokenizer.ggml.model", pre.empty() ? "llama" : "gpt2");
  file.add("tokenizer.ggml.tokens", tokens.texts);
  file.add_numbers("tokenizer.ggml.token_type", GgufType::i32, tokens.types);
  if (pre.empty()) {
    std::vector<float> scores;
    for (const std::string& text : tokens.texts) {
      const auto rank = ranks.find(text);
      scores.push_back(rank == ranks.end() ? -1e6f : -static_cast<float>(rank->second));
    }
    file.add_numbers("tokenizer.ggml.scores", GgufType::f32, scores);
  } else {
    file.add("tokenizer.ggml.pre", pre.c_str());
    file.add("tokenizer.ggml.merges", merges);
  }
  file.add("tokenizer.ggml.add_bos_token", false);
  return file;
}

// A byte-level tokenizer of 256 bytes, "ab" and a special token.
GgufBuilder small_bpe(const MoreTokens& more = {}) {
  json vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const bool own = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    static int next;
    if (byte == 0) next = 0x100;
    const int cp = own ? byte : next++;
    std::string text;
    if (cp < 0x80) {
      text += static_cast<char>(cp);
    } else {
      text += static_cast<char>(0xc0 | cp >> 6);
      text += static_cast<char>(0x80 | (cp & 0x3f));
    }
    vocab[text] = byte;
  }
  vocab["ab"] = 256;
  const json document{{"model", {{"vocab", vocab}, {"merges", {"a b"}}}},
                      {"added_tokens", {{{"id", 257}, {"content", "<|im_end|>"}, {"special", true}}}}};
  return as_gguf(document, "gpt-2", more);
}

std::string load_error(const GgufBuilder& file, const PackOptions& options = {}) {
  const std::string bytes = file.file();
  const auto loaded = load_tokenizer(as_bytes(bytes), {}, options);
  return loaded ? "" : describe(loaded.error());
}

}  // namespace

TEST_CASE("a tokenizer in a GGUF file gives the ids of its tokenizer.json", "[formats]") {
  const std::pair<const char*, const char*> rows[] = {
      {"gpt2", "gpt-2"}, {"smollm", "smollm"}, {"minimind", "gpt-2"}, {"sp_legacy", ""}, {"l3_nfc", "qwen2"}};
  const char* const texts[] = {"Hello, world! It's 2024.",
                               "  leading and trailing  ",
                               "h\xC3\xA9llo e\xCC\x81 \xF0\x9F\x8C\x8D \xE6\x97\xA5\xE6\x9C\xAC\n\n\ttabs",
                               "a<s>b<|endoftext|>c<unk>",
                               "1234567890 x=y+z;",
                               ""};
  for (const auto& [name, pre] : rows) {
    INFO(name);
    const std::string path = data_path(std::string("tokenizers/") + name + "/tokenizer.json");
    const json document = json::parse(read_file(path));
    if (std::string(name) == "l3_nfc") continue;  // llama3's digits under NFC: no name in tokenizer.ggml.pre
    const std::string bytes = as_gguf(document, pre).file();
    const auto own = Tokenizer::from_bytes(as_bytes(bytes));
    if (!own) FAIL(describe(own.error()));
    const auto wanted = Tokenizer::open(path);
    REQUIRE(wanted);
    EncodeOptions options;
    options.bos = false;
    for (const char* text : texts) {
      INFO(text);
      const auto ids = own->encode(text, options);
      CHECK(ids == wanted->encode(text, options));
      CHECK(own->decode(ids) == wanted->decode(ids));
    }
  }
}

TEST_CASE("what a GGUF file says of BOS, EOS, prefix and chat is used", "[formats]") {
  GgufBuilder file = small_bpe();
  file.add("tokenizer.ggml.bos_token_id", std::uint32_t(97));
  file.add("tokenizer.ggml.eos_token_id", std::uint32_t(98));
  file.add("tokenizer.ggml.eot_token_id", std::uint32_t(99));
  file.add("tokenizer.chat_template", "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
  const TempFolder folder;
  folder.write("m.gguf", file.file());
  const std::string path = folder.file("m.gguf");
  auto tokenizer = Tokenizer::open(path);
  REQUIRE(tokenizer);
  CHECK(tokenizer->encode("ab") == std::vector<std::uint32_t>{256});
  CHECK(tokenizer->encode("a<|im_end|>") == std::vector<std::uint32_t>{97, 257});
  CHECK(tokenizer->bos() == 97u);
  CHECK(tokenizer->eos() == 98u);
  CHECK(*end_tokens(path) == std::vector<std::uint32_t>{98, 99, 257});
  const auto chat = find_chat_template(path);
  REQUIRE(chat);
  REQUIRE(*chat);
  CHECK((*chat)->path == path);
  const auto prompt =
      ChatTemplate::parse((*chat)->text)
          ->render(std::vector<ChatMessage>{{"user", "hi"}}, {.special_tokens = (*chat)->special_tokens});
  CHECK(*prompt == "ahib");
  CHECK((*find_chat_template(path, true))->text == (*chat)->text);
  GgufBuilder two = file;
  two.add("tokenizer.chat_template.tool_use", "with tools");
  folder.write("two.gguf", two.file());
  CHECK((*find_chat_template(folder.file("two.gguf")))->text == (*chat)->text);
  CHECK((*find_chat_template(folder.file("two.gguf"), true))->text == "with tools");

  file.set("tokenizer.ggml.add_bos_token", GgufBuilder::type(GgufType::boolean) + "\1");
  folder.write("m.gguf", file.file());
  tokenizer = Tokenizer::open(path);
  CHECK(tokenizer->encode("ab") == std::vector<std::uint32_t>{97, 256});

  GgufBuilder sp = as_gguf(json::parse(read_file(data_path("tokenizers/sp_legacy/tokenizer.json"))), "");
  CHECK(load_error(sp) == "");
  sp.add("tokenizer.ggml.add_space_prefix", false);
  const std::string bytes = sp.file();
  CHECK((Tokenizer::from_bytes(as_bytes(bytes))->flags() & kMltNoPrefix) != 0);
  CHECK(load_error(sp, {.strict = true}) ==
        "tokenizer.ggml.add_space_prefix: needs the extension flag 65536 (no_prefix) (ML_E_UNSUPPORTED)");
}

TEST_CASE("every id of a GGUF file has its text, and the last of equal ones is found", "[formats]") {
  using Ids = std::vector<std::uint32_t>;
  const std::string bytes =
      small_bpe({{"ab", kNormal}, {"a", kNormal}, {"<|im_end|>", kControl}, {"ab", kNormal}}).file();
  const auto loaded = load_tokenizer(as_bytes(bytes), {}, {});
  if (!loaded) FAIL(describe(loaded.error()));
  const auto mlt = write_mlt(loaded->contents);
  REQUIRE(mlt);
  for (const std::span<const std::byte> source : {as_bytes(bytes), std::span<const std::byte>(*mlt)}) {
    const auto tokenizer = Tokenizer::from_bytes(source);
    REQUIRE(tokenizer);
    for (const std::uint32_t id : {256u, 258u, 261u}) CHECK(tokenizer->decode(Ids{id}) == "ab");
    for (const std::uint32_t id : {97u, 259u}) CHECK(tokenizer->decode(Ids{id}) == "a");
    for (const std::uint32_t id : {257u, 260u}) CHECK(tokenizer->decode(Ids{id}) == "<|im_end|>");
    CHECK(tokenizer->encode("ab") == Ids{261});
    CHECK(tokenizer->encode("ac<|im_end|>") == Ids{259, 99, 260});
  }

  const json sp = json::parse(read_file(data_path("tokenizers/sp_legacy/tokenizer.json")));
  const auto n = static_cast<std::uint32_t>(
      load_tokenizer(data_path("tokenizers/sp_legacy"), {})->contents.tokens.size());
  const std::string twice = as_gguf(sp, "", {{"e", kNormal}}).file();
  const auto tokenizer = Tokenizer::from_bytes(as_bytes(twice));
  if (!tokenizer) FAIL(describe(tokenizer.error()));
  CHECK(tokenizer->decode(Ids{n}) == "e");
  const Ids single = tokenizer->encode("#e", {.bos = false});
  CHECK(single.back() == n);
  const std::string refused = load_error(as_gguf(sp, "", {{"<0x0A>", kByte}}));
  INFO(refused);
  CHECK(refused.find(fmt::format(" and {}, but a .mlt has one token for a byte (ML_E_UNSUPPORTED)", n)) !=
        std::string::npos);
}

TEST_CASE("a GGUF file may have very many tokens that end a text", "[formats]") {
  GgufBuilder file;
  file.add("tokenizer.ggml.model", "gpt2");
  const std::vector<std::string> texts(1'000'000, "<|end|>");
  file.add("tokenizer.ggml.tokens", texts);
  file.add("tokenizer.ggml.eos_token_id", std::uint32_t(7));
  const TempFolder folder;
  folder.write("m.gguf", file.file());
  const auto ids = end_tokens(folder.file("m.gguf"));
  REQUIRE(ids);
  REQUIRE(ids->size() == texts.size());
  CHECK(std::vector(ids->begin(), ids->begin() + 3) == std::vector<std::uint32_t>{7, 0, 1});
  CHECK(std::is_sorted(ids->begin() + 1, ids->end()));
}

TEST_CASE("a GGUF tokenizer that does not fit is refused by key", "[formats]") {
  const auto changed = [](const std::function<void(GgufBuilder&)>& change) {
    GgufBuilder file = small_bpe();
    change(file);
    return load_error(file);
  };
  const auto set = [&](const char* key, const std::string& value) {
    return changed([&](GgufBuilder& f) { f.set(key, value); });
  };
  using B = GgufBuilder;
  const std::string u8_list = B::array(GgufType::u8, 258, std::string(258, '\1'));
  const std::pair<std::string, std::string> table[] = {
      {changed([](auto& f) { f.erase("tokenizer.ggml.model"); }),
       "tokenizer.ggml.model is missing, must be llama or gpt2 (ML_E_FORMAT)"},
      {set("tokenizer.ggml.model", B::type(GgufType::string) + B::text("bert")),
       "tokenizer.ggml.model is \"bert\", must be llama or gpt2 (ML_E_UNSUPPORTED, offset "},
      {changed([](auto& f) { f.erase("tokenizer.ggml.pre"); }),
       "tokenizer.ggml.pre is missing, must be one of llama-bpe, "},
      {set("tokenizer.ggml.pre", B::type(GgufType::string) + B::text("tekken")),
       "tokenizer.ggml.pre is \"tekken\", must be one of llama-bpe, "},
      {changed([](auto& f) { f.erase("tokenizer.ggml.tokens"); }),
       "tokenizer.ggml.tokens is missing, must be an array of strings (ML_E_FORMAT)"},
      {set("tokenizer.ggml.tokens", u8_list),
       "tokenizer.ggml.tokens is an array of 258 u8, must be an array of strings (ML_E_FORMAT, offset "},
      {set("tokenizer.ggml.tokens", B::array(GgufType::string, 1, B::text("\xff"))),
       "element 0 of tokenizer.ggml.tokens is not UTF-8 (ML_E_FORMAT, offset "},
      {set("tokenizer.ggml.tokens", B::array(GgufType::string, 0, "")),
       "tokenizer.ggml.token_type is an array of 258 i32, must be an array of 0 elements (ML_E_FORMAT, "},
      {set("tokenizer.ggml.token_type", B::array(GgufType::u8, 258, std::string(258, '\7'))),
       "tokenizer.ggml.token_type is an array of 258 u8, must be an array of numbers from 1 to 6"},
      {set("tokenizer.ggml.token_type", B::type(GgufType::string) + B::text("x")),
       "tokenizer.ggml.token_type is \"x\", must be an array of numbers from 1 to 6"},
      {changed([](auto& f) { f.erase("tokenizer.ggml.merges"); }),
       "tokenizer.ggml.merges is missing, must be an array of strings (ML_E_FORMAT)"},
      {set("tokenizer.ggml.merges", B::array(GgufType::string, 1, B::text("ab"))),
       "element 0 of tokenizer.ggml.merges must hold two tokens and one space (ML_E_FORMAT)"},
      {set("tokenizer.ggml.merges", B::array(GgufType::string, 1, B::text("a zz"))),
       "tokenizer.ggml.merges[0]: \"zz\" is not in model.vocab (ML_E_FORMAT)"},
      {changed([](auto& f) { f.add("tokenizer.ggml.eos_token_id", std::uint32_t(258)); }),
       "tokenizer.ggml.eos_token_id is 258, must be an id below 258 (ML_E_FORMAT, offset "},
      {changed([](auto& f) { f.add("tokenizer.ggml.bos_token_id", "a"); }),
       "tokenizer.ggml.bos_token_id is \"a\", must be an id below 258 (ML_E_FORMAT, offset "},
      {set("tokenizer.ggml.add_bos_token", B::type(GgufType::boolean) + "\1"),
       "tokenizer.ggml.bos_token_id is missing, must be there, as every text begins with it (ML_E_FORMAT)"},
      {set("tokenizer.ggml.add_bos_token", B::type(GgufType::u8) + "\1"),
       "tokenizer.ggml.add_bos_token is 1, must be a bool (ML_E_FORMAT, offset "},
      {changed([](auto& f) { f.add("tokenizer.ggml.add_eos_token", true); }),
       "tokenizer.ggml.add_eos_token is true, must be false: a .mlt puts nothing behind a text "
       "(ML_E_UNSUPPORTED, "},
  };
  for (const auto& [got, message] : table) {
    INFO(message);
    CHECK(got.substr(0, message.size()) == message);
  }
  const auto sp = [](const std::function<void(GgufBuilder&)>& change) {
    GgufBuilder file = as_gguf(json::parse(read_file(data_path("tokenizers/sp_legacy/tokenizer.json"))), "");
    change(file);
    return load_error(file);
  };
  const auto starts = [](const std::string& text, const std::string& start) {
    INFO(text);
    CHECK(text.starts_with(start));
  };
  starts(sp([](auto& f) { f.erase("tokenizer.ggml.scores"); }),
         "tokenizer.ggml.scores is missing, must be an array of f32");
  // One byte each where four are wanted.
  starts(sp([](auto& f) { f.set("tokenizer.ggml.scores", B::array(GgufType::u8, 5, "12345")); }),
         "tokenizer.ggml.scores is an array of 5 u8, must be an array of ");
  starts(sp([](auto& f) {
           f.set("tokenizer.ggml.tokens", B::array(GgufType::string, 1, B::text(std::string(600, 'x'))));
           f.erase("tokenizer.ggml.token_type");
         }),
         "element 0 of tokenizer.ggml.tokens has 600 bytes, may have 512 at most (ML_E_LIMIT)");
  // A run of 100 letters, and every shorter one: 99 ways to cut the longest.
  const auto runs = [](float score) {
    return [score](auto& f) {
      std::string texts;
      for (std::size_t n = 1; n <= 100; ++n) texts += B::text(std::string(n, 'x'));
      f.set("tokenizer.ggml.tokens", B::array(GgufType::string, 100, texts));
      f.erase("tokenizer.ggml.token_type");
      f.erase("tokenizer.ggml.scores");
      f.add_numbers("tokenizer.ggml.scores", GgufType::f32, std::vector<float>(100, score));
    };
  };
  starts(sp(runs(1)),
         "the tokens of tokenizer.ggml.tokens can be cut into two others in over 16 ways each (ML_E_LIMIT)");
  starts(sp(runs(NAN)),
         "tokenizer.ggml.scores is an array of 100 f32, must be an array of f32 without a NaN");
}

TEST_CASE("llama.cpp's vocabularies give the ids that lie beside them", "[formats]") {
  const char* folder = std::getenv("ML_TEST_LLAMA_VOCABS");
  if (folder == nullptr) {
    SUCCEED("no folder of vocabularies");
    return;
  }
  for (const char* name :
       {"command-r", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2", "qwen35", "refact", "starcoder"}) {
    const std::string path = std::string(folder) + "/ggml-vocab-" + name + ".gguf";
    INFO(path);
    const auto tokenizer = Tokenizer::open(path);
    if (!tokenizer) FAIL(describe(tokenizer.error()));
    const std::string input = read_file(path + ".inp");
    std::istringstream output(read_file(path + ".out"));
    const std::string cut = "\n__ggml_vocab_test__\n";
    EncodeOptions options;
    options.bos = false;
    std::size_t n = 0;
    for (std::size_t at = 0; at < input.size(); ++n) {
      const std::size_t end = std::min(input.find(cut, at), input.size());
      const std::string text = input.substr(at, end - at);
      std::string line;
      std::getline(output, line);
      std::istringstream ids(line);
      std::vector<std::uint32_t> wanted;
      for (std::uint32_t id; ids >> id;) wanted.push_back(id);
      INFO(text);
      // llama.cpp does not normalize, the published tokenizers do.
      std::string scratch;
      if ((tokenizer->flags() & kMltNfc) == 0 || normalize_nfc(text, scratch) == text)
        CHECK(tokenizer->encode(text, options) == wanted);
      at = end + cut.size();
    }
    CHECK(n > 40);
  }
}
