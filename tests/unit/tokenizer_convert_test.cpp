#include "catch.hpp"

#include "tokenizer_source.hpp"

#include <fmt/format.h>

// What a tokenizer.json may say (mlt(5), CONVERSION).

namespace {

using nlohmann::json;

struct Edit {
  std::string pointer;  // RFC 6901
  json value;
  std::string path;  // in the message; empty: accepted
};

void check_edits(const std::string& name, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    json document = source(name);
    document[json::json_pointer(edit.pointer)] = edit.value;
    const auto loaded = load(document.dump());
    INFO(name << " " << edit.pointer << " " << edit.value.dump());
    if (edit.path.empty()) {
      if (!loaded) FAIL_CHECK(ml::describe(loaded.error()));
      continue;
    }
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().message.substr(0, edit.path.size()) == edit.path);
    CHECK(loaded.error().message.find('\n') == std::string::npos);
  }
}

const char* kPre = "pre_tokenizer.pretokenizers";

}  // namespace

TEST_CASE("each tokenizer.json becomes its kind and flags", "[tokenizer][convert]") {
  struct Row {
    const char* name;
    ml::TokenizerKind kind;
    std::uint32_t flags;
  };
  const auto kBytes = ml::TokenizerKind::byte_level;
  const auto kPieces = ml::TokenizerKind::sentencepiece;
  for (const Row& row : std::vector<Row>{{"l3_bos", kBytes, 1},
                                         {"qwen_nonfc", kBytes, 16},
                                         {"l3_nfc", kBytes, 8},
                                         {"l3_seq_nfc", kBytes, 8},
                                         {"gpt2_digits", kBytes, 96},
                                         {"gpt2_split", kBytes, 32},
                                         {"gpt2_missing_bytes", kBytes, 32},
                                         {"l3_overlap_added", kBytes, 0},
                                         {"l3_vocab_hole", kBytes, 0},
                                         {"l3_dup_merge", kBytes, 0},
                                         {"gpt2", kBytes, 32},
                                         {"smollm", kBytes, 96},
                                         {"minimind", kBytes, 32},
                                         {"sp_legacy", kPieces, 1},
                                         {"sp_noprefix_gemma", kPieces, 65537},
                                         {"bad_o200k", kBytes, 131072},
                                         {"bad_qwen35", kBytes, 152}}) {
    INFO(row.name);
    const auto tokenizer = ml::Tokenizer::open(source_path(row.name));
    REQUIRE(tokenizer);
    CHECK(tokenizer->kind() == row.kind);
    CHECK(tokenizer->flags() == row.flags);
  }
}

TEST_CASE("what .mlt cannot say is refused with its JSON path", "[tokenizer][convert]") {
  const std::vector<std::pair<const char*, std::string>> rows = {
      {"sp_metaspace_always", "pre_tokenizer.prepend_scheme"},
      {"sp_noprefix_gemma", "normalizer"},
      {"bad_single_word", "added_tokens[3].single_word"},
      {"bad_o200k", "pre_tokenizer.pretokenizers[0].pattern.Regex"},
      {"bad_qwen35", "pre_tokenizer.pretokenizers[0].pattern.Regex"},
      {"bad_digits_group", "pre_tokenizer.pretokenizers[0].individual_digits"},
      {"bad_merged_prev", "pre_tokenizer.pretokenizers[0].behavior"},
      {"bad_lower", "normalizer.type"},
      {"bad_dropout", "model.dropout"},
      {"bad_cont_prefix", "model.continuing_subword_prefix"},
      {"bad_unk", "model.unk_token"},
      {"l3_added_alias", "added_tokens[1].content"},
      {"l3_id_mismatch", "added_tokens[2].id"}};
  for (const auto& [name, path] : rows) {
    INFO(name);
    const auto packed = ml::pack_tokenizer(source_path(name), {.strict = true});
    REQUIRE_FALSE(packed);
    CHECK(packed.error().status == ml::Status::unsupported);
    CHECK(packed.error().path == source_path(name));
    CHECK(packed.error().message.substr(0, path.size() + 1) == path + ":");
  }
}

TEST_CASE("rare features are dropped when asked, and named", "[tokenizer][convert]") {
  for (const char* name : {"sp_metaspace_always", "bad_single_word", "bad_unk", "l3_added_alias"}) {
    INFO(name);
    const auto packed = ml::pack_tokenizer(source_path(name), {.lossy = true});
    REQUIRE(packed);
    REQUIRE(packed->notes.size() >= 1);
    CHECK(packed->notes[0].substr(0, 9) == "dropped: ");
  }
  for (const char* name : {"bad_lower", "bad_dropout", "l3_id_mismatch"}) {
    CHECK_FALSE(ml::pack_tokenizer(source_path(name), {.lossy = true}));
  }
  const auto extended = ml::pack_tokenizer(source_path("bad_o200k"));
  REQUIRE(extended);
  REQUIRE(extended->notes.size() == 2);  // the other: no file beside it names an end-of-text token
  CHECK(extended->notes[0].find("extension flag 131072 (o200k)") != std::string::npos);
}

TEST_CASE("edits of a byte-level tokenizer.json", "[tokenizer][convert]") {
  const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  const json split = source("l3_bos")["pre_tokenizer"]["pretokenizers"][0];
  check_edits(
      "l3_bos",
      {
          {"/version", "1.1", "version"},
          {"/model/type", "Unigram", "model.type"},
          {"/model/type", "WordPiece", "model.type"},
          {"/model/dropout", 0.0, ""},
          {"/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix"},
          {"/model/end_of_word_suffix", "", ""},
          {"/model/continuing_subword_prefix", "", ""},
          {"/model/byte_fallback", true, "model.byte_fallback"},
          {"/model/byte_fallback", 1, "model.byte_fallback"},
          {"/model/unk_token", "<|endoftext|>", ""},
          {"/normalizer", {{"type", "NFD"}}, "normalizer.type"},
          {"/normalizer",
           {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}},
           "normalizer.type"},
          {"/normalizer",
           {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}},
           "normalizer.type"},
          {"/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", ""}}, "normalizer.type"},
          {"/normalizer",
           {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "NFKC"}}}}},
           "normalizer.normalizers[1].type"},
          {"/normalizer", {{"typ", "NFC"}}, "normalizer.type"},
          {"/pre_tokenizer", nullptr, "model.byte_fallback"},
          {"/pre_tokenizer/pretokenizers/1/use_regex", true, std::string(kPre) + "[1].use_regex"},
          {"/pre_tokenizer/pretokenizers/1/add_prefix_space", true,
           std::string(kPre) + "[1].add_prefix_space"},
          {"/pre_tokenizer/pretokenizers/1/add_prefix_space", nullptr,
           std::string(kPre) + "[1].add_prefix_space"},
          {"/pre_tokenizer/pretokenizers/0/behavior", "Removed", std::string(kPre) + "[0].behavior"},
          {"/pre_tokenizer/pretokenizers/0/invert", true, std::string(kPre) + "[0].behavior"},
          {"/pre_tokenizer/pretokenizers/0/pattern", {{"String", " "}}, std::string(kPre) + "[0].pattern"},
          {"/pre_tokenizer/pretokenizers/0/pattern/Regex", R"(\p{N}{1,2})",
           std::string(kPre) + "[0].pattern.Regex"},
          {"/pre_tokenizer/pretokenizers/2", byte_level, std::string(kPre) + "[2].type"},
          {"/pre_tokenizer/pretokenizers",
           {{{"type", "Digits"}, {"individual_digits", true}}, split, byte_level},
           std::string(kPre) + "[2].use_regex"},
          {"/pre_tokenizer/pretokenizers",
           {split, split, {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
           std::string(kPre) + "[0].pattern.Regex"},
          {"/post_processor/processors/1/type", "RobertaProcessing", "post_processor.processors[1].type"},
          {"/post_processor/processors/1/single/1/Sequence/id", "B", "post_processor.processors[1].single"},
          {"/post_processor/processors/1/single/2",
           {{"SpecialToken", {{"id", "x"}}}},
           "post_processor.processors[1].single"},
          {"/post_processor/processors/1/special_tokens", json::object(),
           "post_processor.processors[1].special_tokens[\"<|begin_of_text|>\"].ids"},
          {"/post_processor/processors/1/special_tokens/<|begin_of_text|>/ids",
           {1, 2},
           "post_processor.processors[1].special_tokens[\"<|begin_of_text|>\"].ids"},
          {"/post_processor/processors/1/special_tokens/<|begin_of_text|>/ids", {9999999}, "post_processor"},
          {"/post_processor",
           {{"type", "BertProcessing"}, {"sep", {"x", 1}}, {"cls", {"x", 2}}},
           "post_processor.type"},
          {"/post_processor/processors/2", source("sp_legacy")["post_processor"],
           "post_processor.processors[2]"},
          {"/added_tokens/0/lstrip", true, "added_tokens[0].lstrip"},
          {"/added_tokens/0/rstrip", true, "added_tokens[0].rstrip"},
          {"/added_tokens/0/normalized", true, ""},
          {"/added_tokens/0/content", 5, "added_tokens[0].content"},
          {"/added_tokens/0/id", 5, "added_tokens[0].id"},
          {"/model/vocab/!", 1u << 30, "model.vocab[\"!\"] is 1073741824, must be below 16777216"},
          {"/model/vocab/!", -1, "model.vocab[\"!\"] must be an id"},
          {"/model/vocab/zzzz", 0, "model.vocab[\"zzzz\"]"},
          {"/model/merges/0", "a b c", "model.merges[0] must hold"},
          {"/model/merges/0", {"a", "b", "c"}, "model.merges[0] must be"},
          {"/model/merges/0", {"qqqq", "b"}, "model.merges[0]"},
          {"/model/merges", 7, "model.merges"},
          {"/model/vocab", json::array(), "model.vocab"},
      });
}

TEST_CASE("a tokenizer.json is read as strictly as other JSON", "[tokenizer][convert]") {
  const std::string text = source("l3_nfc").dump();
  CHECK(load(text));
  const auto refused = load(text + std::string(1, '\0') + "{");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "not JSON: a NUL byte");
  CHECK(refused.error().offset == text.size());
  const std::string inside = text.substr(0, text.size() - 1);
  const std::pair<std::string, std::string> table[] = {
      {inside + R"(,"model":{}})", "model"},
      {inside + R"(,"normalizer":null,"normalizer":null})", "normalizer"},
      {R"({"model":{"vocab":{"a":0},"vocab":{"a":0}}})", "vocab"},
      {R"({"model":{"merges":[],"merges":[]}})", "merges"},
  };
  for (const auto& [twice, key] : table) {
    const auto loaded = load(twice);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().message == fmt::format("JSON key \"{}\" is there twice", key));
  }
}

TEST_CASE("each way to write a pre-tokenizer has its flags", "[tokenizer][convert]") {
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const json cutting = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto sequence = [](std::vector<json> steps) {
    return json{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  };
  const auto removed = [](json split) {
    split["behavior"] = "Removed";
    split["invert"] = true;
    return split;
  };
  const json llama3 = source("l3_nfc")["pre_tokenizer"]["pretokenizers"][0];
  const json qwen = source("qwen_nonfc")["pre_tokenizer"]["pretokenizers"][0];
  const json gpt2 = source("gpt2_split")["pre_tokenizer"]["pretokenizers"][0];
  json document = source("l3_nfc");
  const auto check = [&](const json& pre_tokenizer, const json& normalizer, std::uint32_t flags) {
    document["pre_tokenizer"] = pre_tokenizer;
    document["normalizer"] = normalizer;
    INFO(pre_tokenizer.dump() << " " << normalizer.dump());
    const auto loaded = load(document.dump());
    REQUIRE(loaded);
    CHECK(loaded->contents.kind == ml::TokenizerKind::byte_level);
    CHECK(loaded->contents.flags == flags);
  };
  check(cutting, nullptr, ml::kMltGpt2);
  check(sequence({sequence({digits}), cutting}), nullptr, ml::kMltGpt2 | ml::kMltSplitDigits);
  for (const auto& [split, flags] : std::vector<std::pair<json, std::uint32_t>>{
           {llama3, 0}, {qwen, ml::kMltSingleDigits}, {gpt2, ml::kMltGpt2}}) {
    check(sequence({split, bytes}), nullptr, flags);
    check(sequence({removed(split), bytes}), nullptr, flags);
    check(sequence({digits, split, bytes}), nullptr, flags | ml::kMltSplitDigits);
  }
  const json nfc = {{"type", "NFC"}};
  check(cutting, {{"type", "Sequence"}, {"normalizers", json::array()}}, ml::kMltGpt2);
  check(cutting, nfc, ml::kMltGpt2 | ml::kMltNfc);
  check(cutting, {{"type", "Sequence"}, {"normalizers", {nfc}}}, ml::kMltGpt2 | ml::kMltNfc);
}

TEST_CASE("a pattern that is nearly one of .mlt's is refused", "[tokenizer][convert]") {
  json document = source("l3_nfc");
  json& regex = document["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
  const auto known = regex.get<std::string>();
  std::string two_digits = known, no_newlines = known;
  two_digits.replace(two_digits.find("{1,3}"), 5, "{1,2}");
  no_newlines.erase(no_newlines.find("[\\r\\n]*"), 7);
  const std::string tekken =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
      R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  for (const std::string& text : {two_digits, no_newlines, tekken, known + " ", "(?:" + known + ")"}) {
    regex = text;
    const auto refused = load(document.dump());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == ml::Status::unsupported);
    CHECK(refused.error().message.starts_with(std::string(kPre) + "[0].pattern.Regex:"));
  }
}

TEST_CASE("DeepSeek's three splits are known by their texts and order", "[tokenizer][convert]") {
  const auto split = [](const std::string& regex) {
    return json{
        {"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
  };
  const json numbers = split(R"(\p{N}{1,3})"), east_asian = split("[一-龥぀-ゟ゠-ヿ]+");
  const std::string marks = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)";
  const auto words = [&](const std::string& newline) {
    return split(marks + newline + R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)" + newline +
                 R"(]*|\s*[)" + newline + R"(]+|\s+(?!\S)|\s+)");
  };
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  json document = source("l3_nfc");
  document["normalizer"] = nullptr;
  json& steps = document["pre_tokenizer"]["pretokenizers"];
  steps = {numbers, east_asian, words("\r\n"), bytes};
  const auto loaded = load(document.dump());
  REQUIRE(loaded);
  CHECK(loaded->contents.flags == ml::kMltDeepSeek);
  REQUIRE(loaded->notes.size() == 1);
  CHECK(loaded->notes[0].find("extension flag 262144") != std::string::npos);
  CHECK_FALSE(load(document.dump(), {.strict = true}));
  for (const json& near :
       {json{east_asian, numbers, words("\r\n"), bytes}, json{numbers, east_asian, words("\\r\\n"), bytes},
        json{numbers, words("\r\n"), bytes}}) {
    steps = near;
    CHECK_FALSE(load(document.dump()));
  }
}

TEST_CASE("what changes no id changes no byte", "[tokenizer][convert]") {
  const auto plain = load(read_file(source_path("l3_bos")));
  REQUIRE(plain);
  for (const auto& [pointer, value] : std::vector<std::pair<const char*, json>>{
           {"/truncation", {{"max_length", 1}, {"strategy", "LongestFirst"}, {"stride", 0}}},
           {"/padding", {{"strategy", {{"Fixed", 9}}}, {"pad_id", 0}, {"pad_token", "!"}}},
           {"/decoder", nullptr},
           {"/decoder", {{"type", "Fuse"}}},
           {"/pre_tokenizer/pretokenizers/1/trim_offsets", false},
           {"/pre_tokenizer/pretokenizers/1/trim_offsets", true},
           {"/post_processor/processors/0/add_prefix_space", false},
           {"/post_processor/processors/0/trim_offsets", true},
           {"/post_processor/processors/1/pair", json::array()}}) {
    json document = source("l3_bos");
    document[json::json_pointer(pointer)] = value;
    INFO(pointer << " " << value.dump());
    const auto loaded = load(document.dump());
    REQUIRE(loaded);
    CHECK(*ml::write_mlt(loaded->contents) == *ml::write_mlt(plain->contents));
  }
}

TEST_CASE("BOS is put before a text if the post-processor says so, with its id", "[tokenizer][convert]") {
  json document = source("l3_bos");
  json& post = document["post_processor"]["processors"][1];
  post["special_tokens"]["<|begin_of_text|>"]["ids"] = {5};  // not the id of the name
  auto loaded = load(document.dump());
  REQUIRE(loaded);
  CHECK(loaded->contents.flags == ml::kMltBos);
  CHECK(loaded->contents.bos == 5);
  post["single"].erase(0);
  loaded = load(document.dump(), {}, {.tokenizer_config = {{"bos_token", "<|begin_of_text|>"}}});
  REQUIRE(loaded);
  CHECK(loaded->contents.flags == 0);
  CHECK(loaded->contents.bos == 1756);
}

TEST_CASE("edits of a SentencePiece-style tokenizer.json", "[tokenizer][convert]") {
  const json metaspace = {
      {"type", "Metaspace"}, {"replacement", "\xE2\x96\x81"}, {"prepend_scheme", "first"}, {"split", false}};
  check_edits("sp_legacy", {
                               {"/pre_tokenizer", metaspace, "pre_tokenizer.type"},
                               {"/normalizer", nullptr, "normalizer"},
                               {"/normalizer/normalizers/1/content", "_", "normalizer.normalizers[1]"},
                               {"/normalizer/normalizers/2", {{"type", "NFKC"}}, "normalizer.normalizers[1]"},
                               {"/normalizer", {{"type", "Precompiled"}}, "normalizer"},
                               {"/model/byte_fallback", false, "model.byte_fallback"},
                               {"/model/vocab/<0x0A>", 1261, "model.vocab["},
                               {"/added_tokens/0/normalized", true, "added_tokens[0].normalized"},
                           });
  json document = source("sp_legacy");
  document["normalizer"] = nullptr;
  document["pre_tokenizer"] = metaspace;
  auto loaded = load(document.dump());
  REQUIRE(loaded);
  CHECK(loaded->contents.flags == (ml::kMltBos | ml::kMltPrefixFirst));
  for (const auto& [member, value] : std::vector<std::pair<std::string, json>>{
           {"split", true}, {"split", nullptr}, {"replacement", "_"}, {"prepend_scheme", nullptr}}) {
    json edited = document;
    edited["pre_tokenizer"][member] = value;
    const auto refused = load(edited.dump());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.starts_with("pre_tokenizer." + member + ":"));
  }
  document = source("sp_legacy");
  document["model"]["vocab"].erase("<0x0A>");
  CHECK_FALSE(load(document.dump()));
}

TEST_CASE("BOS and EOS come from the files beside a tokenizer.json", "[tokenizer][convert]") {
  const std::string text = read_file(source_path("qwen_nonfc"));
  const auto specials = [&](const ml::TokenizerSideFiles& beside) {
    const auto loaded = load(text, {}, beside);
    REQUIRE(loaded);
    return std::pair(loaded->contents.bos, loaded->contents.eos);
  };
  using Pair = std::pair<std::int32_t, std::int32_t>;
  CHECK(specials({}) == Pair(-1, -1));
  CHECK(specials({.tokenizer_config = {{"bos_token", nullptr}, {"eos_token", "<|im_end|>"}}}) ==
        Pair(-1, 1758));
  CHECK(specials({.tokenizer_config = {{"eos_token", {{"content", "<think>"}}}}}) == Pair(-1, 1759));
  CHECK(specials({.tokenizer_config = {{"bos_token", nullptr}},
                  .config = {{"bos_token_id", 3u}, {"eos_token_id", {7u, 8u}}}}) == Pair(-1, 7));
  CHECK(specials({.generation_config = {{"bos_token_id", 4u}, {"eos_token_id", 999999u}}}) == Pair(4, -1));
  CHECK(specials({.tokenizer_config = {{"bos_token", "no such token"}}, .config = {{"bos_token_id", 4u}}}) ==
        Pair(4, -1));
  const auto bos =
      load(read_file(source_path("l3_bos")), {}, {.tokenizer_config = {{"bos_token", "<think>"}}});
  REQUIRE(bos);
  CHECK(bos->contents.bos == 1756);
  CHECK(bos->notes.size() == 1);
}

TEST_CASE("broken JSON is one clear line", "[tokenizer][convert]") {
  const std::string deep(100000, '[');
  for (const std::string& text :
       {std::string("{"), std::string("{\"a\": \"\xFF\"}"), std::string("{}"), std::string("{\"model\": 1}"),
        "{\"a\":" + deep, "{\"model\":{\"vocab\":{\"a\":" + deep, "{\"model\":{\"merges\":" + deep,
        std::string("[1]"), std::string(), std::string("GGUF"),
        std::string("{\"model\":{\"merges\":[[\"a\",[]]]}}"),
        std::string("{\"model\":{\"vocab\":{\"a\":1.5}}}"), std::string("{} x")}) {
    const auto loaded = load(text);
    REQUIRE_FALSE(loaded);
    INFO(ml::describe(loaded.error()));
    CHECK_FALSE(loaded.error().message.empty());
    CHECK(loaded.error().message.size() < 300);
    CHECK(loaded.error().message.find('\n') == std::string::npos);
  }
  CHECK(load("{\"a\": \"\xFF\"}").error().offset == 7u);
}

TEST_CASE("every truncation of a tokenizer.json is refused", "[tokenizer][convert]") {
  const std::string text = read_file(source_path("sp_legacy"));
  for (std::size_t n = 0; n + 1 < text.size(); n += n < 3000 ? 1 : 97) CHECK_FALSE(load(text.substr(0, n)));
}
