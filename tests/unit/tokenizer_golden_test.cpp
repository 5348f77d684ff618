#include "golden.hpp"

// Ids and texts of the `tokenizers` library, for every tokenizer whose .mlt is exact.

TEST_CASE("ids and text of the tokenizers library", "[tokenizer][golden]") {
  for (const char* name :
       {"l3_bos", "qwen_nonfc", "l3_nfc", "l3_seq_nfc", "gpt2_digits", "gpt2_split", "gpt2_missing_bytes",
        "l3_overlap_added", "sp_legacy", "l3_vocab_hole", "l3_dup_merge", "gpt2", "smollm", "minimind"}) {
    CHECK(check_golden(data_path(std::string("tokenizers/") + name + "/tokenizer.json"), {name}) > 500);
  }
  CHECK(check_golden(data_path("tokenizers/sp_noprefix_gemma/tokenizer.json"), {"sp_noprefix_gemma", false}) >
        600);
}
