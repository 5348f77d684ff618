// Any bytes as a .mog: the directory, the whole check, the tokenizer, and a step of the forward pass where it
// opens.

#include "support.hpp"

#include <ml/model.hpp>
#include <ml/mog.hpp>
#include <ml/session.hpp>
#include <ml/tokenizer.hpp>

#include <array>

namespace {

// A configuration may ask for more work than a fuzzer should do.
constexpr std::uint64_t kMaxWeights = 1 << 22;

}  // namespace

FUZZ_TARGET(mog) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const bool directory = static_cast<bool>(ml::read_mog(bytes));
  if (!directory && ml::check_mog(bytes, 1).empty()) std::abort();
  if (!directory) return 0;
  if (const auto tokenizer = ml::Tokenizer::from_bytes(bytes)) {
    const auto ids = tokenizer->encode("Hello, world 123");
    (void)tokenizer->decode(ids);
  }
  const MemoryFile file({data, size});
  const auto model = ml::Model::open(file.path());
  if (!model || model->n_weights() > kMaxWeights) return 0;
  auto session = ml::Session::create(*model, {.ctx = 1, .threads = 1});
  if (!session) return 0;
  constexpr std::array<std::uint32_t, 1> kTokens = {0};
  if (!session->eval(kTokens)) std::abort();
  return 0;
}
