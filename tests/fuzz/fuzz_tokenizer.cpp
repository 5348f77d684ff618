// Any bytes as a .mlt or tokenizer.json; what opens has to encode and decode.

#include "support.hpp"

#include <ml/tokenizer.hpp>

#include <algorithm>

FUZZ_TARGET(tokenizer) {
  const MemoryFile file({data, size});
  const auto tokenizer = ml::Tokenizer::open(file.path());
  if (!tokenizer) return 0;
  const std::string text = "Once upon a time,\n\n 1234 dögs'll <s>\xff\xf0\x9f\x98\x80 run.  ";
  for (const std::uint32_t id : tokenizer->encode(text)) {
    if (id >= tokenizer->n_vocab()) std::abort();
  }
  const std::string own(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 4096));
  const auto ids = tokenizer->encode(own, {.bos = false, .added = false});
  (void)tokenizer->decode(ids);
  return 0;
}
