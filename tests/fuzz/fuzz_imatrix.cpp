// Any bytes as an importance matrix, an MLI1 file or llama.cpp's GGUF form: what is sound must report itself
// as such, and merge to the same sums.

#include "support.hpp"

#include <ml/imatrix.hpp>
#include <ml/inspect.hpp>

#include <cstring>

FUZZ_TARGET(imatrix) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto imatrix = ml::read_imatrix(bytes);
  if (static_cast<bool>(imatrix) != ml::check_imatrix(bytes).empty()) std::abort();
  const MemoryFile file({data, size});
  const std::string paths[] = {file.path()};
  const auto merged = ml::merge_imatrices(paths);
  if (merged && !imatrix) std::abort();
  if (!imatrix) return 0;
  // A sum may be too large for what is merged; then a message says so.
  if (!merged) {
    if (merged.error().message.empty()) std::abort();
    return 0;
  }
  if (merged->sums != imatrix->sums || merged->tokens != imatrix->tokens) std::abort();
  for (std::uint32_t layer = 0; layer < imatrix->shape.n_layers; ++layer) {
    for (const ml::ImatrixInput input : ml::imatrix_layer_inputs()) {
      (void)ml::imatrix_stats(*imatrix, layer, input);
      for (const float value : ml::imatrix_importance(*imatrix, layer, input)) {
        if (!(value >= 0.001f && value <= 65536.0f)) std::abort();
      }
    }
  }
  if (!ml::inspect(file.path(), {.check = true, .threads = 1})) std::abort();
  return 0;
}
