// Any bytes as a line of ml-run --jsonl.

#include "support.hpp"

#include "ml_run/request.hpp"

FUZZ_TARGET(jsonl) {
  static const auto tokenizer = ml::Tokenizer::open((data_folder() / "models/stories260K").string());
  if (!tokenizer) std::abort();
  const auto request = cli::parse_request({reinterpret_cast<const char*>(data), size}, {}, *tokenizer);
  if (!request && request.error().message.empty()) std::abort();
  return 0;
}
