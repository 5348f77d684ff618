// Any bytes as a .mlb: the header, the directory, the whole check, and a step of the forward pass where it
// opens.

#include "support.hpp"

#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/session.hpp>

#include <array>

namespace {

// A header may ask for more work than a fuzzer should do.
constexpr std::uint64_t kMaxWeights = 1 << 22;

}  // namespace

FUZZ_TARGET(mlb) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const bool header = static_cast<bool>(ml::read_mlb_header(bytes));
  const bool directory = static_cast<bool>(ml::read_mlb(bytes));
  if (directory && !header) std::abort();
  if (!directory && ml::check_mlb(bytes, 1).empty()) std::abort();
  const MemoryFile file({data, size});
  const auto model = ml::Model::open(file.path());
  if (!model) return 0;
  if (!directory) std::abort();
  if (model->n_weights() > kMaxWeights) return 0;
  auto session = ml::Session::create(*model, {.ctx = 1, .threads = 1});
  if (!session) return 0;
  constexpr std::array<std::uint32_t, 1> kTokens = {0};
  if (!session->eval(kTokens)) std::abort();
  return 0;
}
