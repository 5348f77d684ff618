// Random models drawn from the input's hash: all targets, threads and batches must have the same bits.

#include "support.hpp"

#include "oracle/random_model.hpp"

#include <ml/session.hpp>

#include <xxhash.h>

#include <vector>

namespace {

std::vector<float> run(const ml::Model& model, const std::vector<std::uint32_t>& tokens,
                       const ml::SessionOptions& options) {
  auto session = ml::Session::create(model, options);
  if (!session) std::abort();
  std::vector<float> all;
  if (!session->eval(tokens, [&](std::uint32_t, std::span<const float> row) {
        all.insert(all.end(), row.begin(), row.end());
      }))
    std::abort();
  return all;
}

}  // namespace

FUZZ_TARGET(models) {
  const std::uint64_t seed = XXH3_64bits(data, size);
  RandomMlb source(seed);
  const std::string bytes = source.draw();
  if (bytes.empty()) return 0;
  const MemoryFile file({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  const auto model = ml::Model::open(file.path());
  if (!model) return 0;
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> tokens(1 + random() % 20);
  for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random() % model->desc().vocab);
  ml::SessionOptions options{.ctx = 20, .batch = 1, .threads = 1, .target = ml::Target::scalar};
  options.activations = random() % 2 == 0 ? ml::Activations::q8 : ml::Activations::f32;
  options.kv = random() % 2 == 0 ? ml::KvType::f16 : ml::KvType::q8;
  const auto expected = run(*model, tokens, options);
  for (const ml::Target target : ml::available_targets()) {
    options.target = target;
    options.batch = static_cast<std::uint32_t>(1 + random() % 20);
    const auto got = run(*model, tokens, options);
    if (!same_logits(got, expected)) std::abort();
  }
  return 0;
}
