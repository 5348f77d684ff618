// Any bytes as a saved session of a small model, its fingerprint and checksum made right: restored and gone
// on with.

#include "support.hpp"

#include "runtime/session_file.hpp"

#include <ml/session.hpp>

#include <xxhash.h>

#include <array>
#include <cstring>
#include <vector>

FUZZ_TARGET(session) {
  static const auto model = ml::Model::open((data_folder() / "oracle/qwen35-hybrid").string());
  if (!model) std::abort();
  static auto session = ml::Session::create(*model, {.ctx = 16, .kv = ml::KvType::q8, .threads = 1});
  if (!session) std::abort();
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size >= ml::kSessionHeaderBytes + 8) {
    const std::uint64_t fingerprint = ml::model_fingerprint(*model);
    std::memcpy(bytes.data() + 8, &fingerprint, sizeof fingerprint);
    const std::uint64_t check = XXH3_64bits(bytes.data(), size - 8);
    std::memcpy(bytes.data() + size - 8, &check, sizeof check);
  }
  const auto all = std::as_bytes(std::span(bytes));
  const auto restored = session->restore(all);
  if (static_cast<bool>(restored) && !ml::Session::saved_tokens(all)) std::abort();
  if (restored && session->position() < session->ctx()) {
    constexpr std::array<std::uint32_t, 1> kTokens{1};
    if (!session->eval(kTokens)) std::abort();
  }
  session->reset();
  return 0;
}
