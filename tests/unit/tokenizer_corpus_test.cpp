#include "golden.hpp"
#include "skip.hpp"

// Published tokenizers that are too large for the repository, or not free enough. A case says which of them
// the corpus folder lacks, and where it has none the program is skipped.

namespace {

using Ids = std::vector<std::uint32_t>;

// Its path, or "" where it is not there.
std::string published(const std::string& name) {
  static bool any = false;
  const std::string path = corpus_path("tokenizers/real/" + name + "/tokenizer.json");
  if (path.empty()) WARN("skipped: the corpus folder has no tokenizers/real/" << name);
  any = any || !path.empty();
  program_is_skipped = !any;
  return path;
}

struct Case {
  std::string text;
  Ids ids;
};

void check_published(const std::string& name, const std::vector<Case>& cases) {
  const std::string path = published(name);
  if (path.empty()) return;
  const auto tokenizer = ml::Tokenizer::open(path);
  if (!tokenizer) FAIL(ml::describe(tokenizer.error()));
  for (const Case& c : cases) {
    INFO(name << ": " << c.text);
    CHECK(tokenizer->encode(c.text, {.bos = false}) == c.ids);
  }
}

}  // namespace

TEST_CASE("texts that other tokenizers got wrong", "[tokenizer]") {
  check_published("llama3", {{"What is 3333+777?", {3923, 374, 220, 8765, 18, 10, 15831, 30}},
                             {" Việt", {101798}},
                             {"a\u2003b \u2009c", {64, 116503, 65, 220, 105584, 66}},
                             {"\u2029 \uA3E4", {378, 102, 8790, 237, 97}},
                             {".:.:", {100421}},
                             {"! ! !", {0, 758, 758}}});
  check_published("llama2", {{"a:<s>->", {263, 29901, 1, 1599}},
                             {" Hello", {29871, 15043}},
                             {"This is 🦙.cpp", {910, 338, 29871, 243, 162, 169, 156, 29889, 8223}},
                             {"you…\u00A0\u00A0", {366, 30098, 8655}},
                             {"깰", {29871, 237, 188, 179}}});
  check_published("gemma3", {{"<pad>text<eos>", {0, 1005, 1}},
                             {"\t\t\t\t\t\ttest", {255973, 2181}},
                             {"a  b and    c", {236746, 138, 236763, 532, 140, 236755}},
                             {"잠 깰 수", {241260, 236743, 472, 423, 414, 7344}}});
  check_published("qwen3", {{"!\u0085", {0, 126, 227}},
                            {"<think>\nhi</think>", {151667, 198, 6023, 151668}},
                            {"a\u08D0\u0301", {64, 156, 96, 238, 53839}}});
  check_published("deepseek_v3", {{"a \U0001FAE8", {67, 7351, 107, 104}}});
}

TEST_CASE("a line end in OpenLLaMA is its byte token", "[tokenizer]") {
  const std::string path = published("openllama");
  if (path.empty()) return;
  const auto packed = ml::pack_tokenizer(path, {.lossy = true});
  REQUIRE(packed);
  const auto tokenizer = ml::Tokenizer::from_bytes(packed->bytes);
  REQUIRE(tokenizer);
  CHECK(tokenizer->encode("Q: What is the largest animal?\nA:", {.bos = false}) ==
        Ids{1059, 31871, 1217, 322, 266, 3682, 6075, 31902, 13, 31849, 31871});
}

TEST_CASE("ids and text of the tokenizers library, large vocabularies", "[tokenizer][golden]") {
  for (const char* name :
       {"llama2", "llama3", "llama3_1", "qwen3", "gemma3", "deepseek_v3", "gptoss", "gpt4o"}) {
    const std::string path = published(name);
    if (!path.empty()) CHECK(check_golden(path, {name}) > 500);
  }
}

TEST_CASE("a normalized special token behind a prefix is refused", "[tokenizer][convert]") {
  const std::string path = published("openllama");
  if (path.empty()) return;
  const auto packed = ml::pack_tokenizer(path);
  REQUIRE_FALSE(packed);
  CHECK(packed.error().status == ml::Status::unsupported);
  CHECK(packed.error().message.find("added_tokens[0].normalized") != std::string::npos);
}
