// Any bytes as text, for tokenizers of both kinds: ids and back, whole and cut anywhere.

#include "support.hpp"

#include <ml/tokenizer.hpp>

#include <vector>

FUZZ_TARGET(text) {
  static const std::vector<ml::Tokenizer> tokenizers = [] {
    std::vector<ml::Tokenizer> all;
    for (const char* name : {"gpt2", "l3_nfc", "sp_legacy", "qwen_nonfc"}) {
      auto tokenizer = ml::Tokenizer::open((data_folder() / "tokenizers" / name).string());
      if (!tokenizer) std::abort();
      all.push_back(std::move(*tokenizer));
    }
    return all;
  }();
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const ml::Tokenizer& tokenizer = tokenizers[data[0] % tokenizers.size()];
  for (const bool added : {false, true}) {
    const auto ids = tokenizer.encode(text, {.bos = false, .added = added});
    for (const std::uint32_t id : ids) {
      if (id >= tokenizer.n_vocab()) std::abort();
    }
    if (tokenizer.encode(text, {.bos = false, .added = added}) != ids) std::abort();
    (void)tokenizer.decode(ids);
  }
  return 0;
}
