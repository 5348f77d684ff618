#include "catch.hpp"
#include "data.hpp"

#include <ml/tokenizer.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>

// Ids and texts of the `tokenizers` library, for every tokenizer whose .mlt is exact.

namespace {

using Ids = std::vector<std::uint32_t>;

struct GoldenRow {
  std::string name;
  bool decodes_alike = true;  // false: decoder and prefix rule of the tokenizer.json disagree
};

void check_line(const ml::Tokenizer& tokenizer, const nlohmann::json& line, bool decodes_alike) {
  const auto text = line["text"].get<std::string>();
  const auto ids = line["ids_no_special"].get<Ids>();
  INFO(line.dump());
  for (const ml::Target target : ml::available_targets()) {
    CHECK(tokenizer.encode(text, {.bos = false, .target = target}) == ids);
  }
  CHECK(tokenizer.encode(text) == line["ids_with_special"].get<Ids>());
  if (!decodes_alike) return;
  const auto decoded = line["decoded"].get<std::string>();
  CHECK(tokenizer.decode(ids) == decoded);
  const auto with_special = line.value("decoded_with_special", decoded);
  CHECK(tokenizer.decode(line["ids_with_special"].get<Ids>()) == with_special);
  ml::StreamDecoder stream(tokenizer);
  std::string joined;
  for (const std::uint32_t id : ids) {
    const std::string piece = stream.push({&id, 1});
    CHECK_FALSE(ml::find_invalid_utf8(piece));
    joined += piece;
  }
  CHECK(joined + stream.finish() == decoded);
}

// @return the number of lines
int check_golden(const std::string& tokenizer_path, const GoldenRow& row) {
  INFO(tokenizer_path);
  const auto tokenizer = ml::Tokenizer::open(tokenizer_path);
  if (!tokenizer) FAIL(ml::describe(tokenizer.error()));
  std::ifstream lines(std::string(std::getenv("ML_TEST_GOLDEN")) + "/" + row.name + ".jsonl");
  int n_lines = 0;
  for (std::string line; std::getline(lines, line); ++n_lines) {
    check_line(*tokenizer, nlohmann::json::parse(line), row.decodes_alike);
  }
  return n_lines;
}

}  // namespace

TEST_CASE("ids and text of the tokenizers library", "[tokenizer][golden]") {
  for (const char* name :
       {"l3_bos", "qwen_nonfc", "l3_nfc", "l3_seq_nfc", "gpt2_digits", "gpt2_split", "gpt2_missing_bytes",
        "l3_overlap_added", "sp_legacy", "l3_vocab_hole", "l3_dup_merge", "gpt2", "smollm", "minimind"}) {
    CHECK(check_golden(data_path(std::string("tokenizers/") + name + "/tokenizer.json"), {name}) > 500);
  }
  CHECK(check_golden(data_path("tokenizers/sp_noprefix_gemma/tokenizer.json"), {"sp_noprefix_gemma", false}) >
        600);
}

TEST_CASE("ids and text of the tokenizers library, large vocabularies", "[tokenizer][golden]") {
  for (const char* name :
       {"llama2", "llama3", "llama3_1", "qwen3", "gemma3", "deepseek_v3", "gptoss", "gpt4o"}) {
    const std::string path = corpus_path(std::string("tokenizers/real/") + name + "/tokenizer.json");
    if (path.empty()) continue;
    CHECK(check_golden(path, {name}) > 500);
  }
}
