// Any bytes as any file: looking into it and checking it must agree, and the check must end.

#include "support.hpp"

#include <ml/inspect.hpp>

FUZZ_TARGET(inspect) {
  const MemoryFile file({data, size});
  const auto plain = ml::inspect(file.path(), {.threads = 1});
  const auto checked = ml::inspect(file.path(), {.check = true, .threads = 1});
  if (!plain && checked && checked->defects.empty()) std::abort();
  if (!checked) return 0;
  for (const ml::InfoArray& array : checked->arrays) {
    if (array.view && array.n_weights() < 1u << 16) (void)ml::tensor_stats(*array.view, 1);
  }
  return 0;
}
