// Any bytes as a GGUF file: the container, the whole check, the tokenizer, the model and what a tool asks of
// it.

#include "support.hpp"

#include "formats/gguf.hpp"

#include <ml/chat.hpp>
#include <ml/generation.hpp>
#include <ml/inspect.hpp>
#include <ml/model.hpp>
#include <ml/tokenizer.hpp>

FUZZ_TARGET(gguf) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const bool sound = static_cast<bool>(ml::read_gguf(bytes));
  if (ml::check_gguf(bytes).defects.empty() != sound) std::abort();
  if (!ml::is_gguf(bytes)) return 0;
  const MemoryFile file({data, size});
  const auto report = ml::inspect(file.path(), {.check = true, .threads = 1});
  if (report) {
    for (const ml::InfoArray& array : report->arrays) (void)static_cast<bool>(ml::load_weights(array));
  }
  if (ml::Model::open(file.path(), {.decode = true}) && !sound) std::abort();
  (void)static_cast<bool>(ml::Tokenizer::from_bytes(bytes));
  (void)static_cast<bool>(ml::end_tokens(file.path()));
  (void)static_cast<bool>(ml::find_chat_template(file.path()));
  return 0;
}
