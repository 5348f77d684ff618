// Any bytes as a recipe of mog-pack over a small checkpoint: planned, and packed where that is little work.

#include "support.hpp"

#include <ml/mog_pack.hpp>

FUZZ_TARGET(recipe) {
  const MemoryFile recipe({data, size});
  const auto pack = ml::MogPack::plan(recipe.path(),
                                      {.root = (data_folder() / "oracle/llama2-mha").string(), .threads = 1});
  if (!pack) {
    if (pack.error().message.empty()) std::abort();
    return 0;
  }
  auto out = ml::OutputFile::create("/dev/null", {.force = true});
  if (!out) std::abort();
  (void)static_cast<bool>(pack->write(*out));
  return 0;
}
