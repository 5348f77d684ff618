#include "latent/calibration.hpp"

#include "runtime/engine.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

constexpr double kRidge = 1e-4;  // of the mean diagonal

// The lower half of sum += z z^T, token after token.
void add_products(ThreadPool& pool, const std::vector<float>& z, Dense& sum) {
  constexpr std::uint64_t kGrain = 16;
  pool.run(sum.rows, kGrain, [&](std::uint64_t begin, std::uint64_t end) {
    for (const float* row = z.data(); row != z.data() + z.size(); row += sum.rows) {
      for (std::uint64_t r = begin; r < end; ++r) {
        const double factor = static_cast<double>(row[r]);
        double* to = sum.row(r);
        for (std::uint64_t c = 0; c <= r; ++c) to[c] += factor * static_cast<double>(row[c]);
      }
    }
  });
}

Result<void> finish(Dense& sum, std::uint64_t n_tokens, std::uint32_t layer) {
  const double scale = 1 / static_cast<double>(n_tokens);
  for (double& value : sum.values) value *= scale;
  const double ridge = kRidge * trace(sum) / static_cast<double>(sum.rows);
  if (!std::isfinite(ridge)) {
    return Error{.status = Status::format,
                 .message = fmt::format("layer {} reads values that are not finite", layer)};
  }
  for (std::uint64_t r = 0; r < sum.rows; ++r) {
    sum.at(r, r) += ridge;
    for (std::uint64_t c = 0; c < r; ++c) sum.at(c, r) = sum.at(r, c);
  }
  return {};
}

}  // namespace

Result<Calibration> calibrate(const Model& model, std::span<const std::uint32_t> tokens,
                              const std::vector<bool>& wanted, const CalibrationOptions& options) {
  if (tokens.empty()) return Error{.status = Status::arg, .message = "no tokens to calibrate with"};
  const ModelDesc& desc = model.desc();
  const std::uint32_t window = std::min(options.window, desc.max_seq);
  const SessionOptions session{.ctx = window,
                               .batch = window,
                               .activations = Activations::f32,
                               .kv = KvType::f32,
                               .threads = options.threads,
                               .target = options.target};
  ML_TRY(const std::unique_ptr<Engine> engine, Engine::create(model, session, 1));
  ML_TRY(Sequence sequence, Sequence::create(desc, engine->options()));
  ThreadPool pool(options.threads != 0 ? options.threads : available_threads());
  Calibration sums(desc.n_layers());
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (!wanted[i]) continue;
    const std::uint64_t dim = desc.dim + (desc.layers[i].sparse ? desc.kv_dim() : 0);
    sums[i] = Dense(dim, dim);
  }
  std::vector<float> z;
  engine->watch_inputs([&](std::uint32_t layer, const Operand& x, const float* values, std::uint64_t stride,
                           std::uint64_t n_tokens) {
    if (!wanted[layer]) return;
    z.clear();
    for (std::uint64_t token = 0; token < n_tokens; ++token) {
      z.insert(z.end(), x.row(token), x.row(token) + desc.dim);
      const float* row = values + token * stride;
      if (desc.layers[layer].sparse) z.insert(z.end(), row, row + desc.kv_dim());
    }
    add_products(pool, z, sums[layer]);
  });
  for (std::size_t begin = 0; begin < tokens.size(); begin += window) {
    const auto part = tokens.subspan(begin, std::min<std::size_t>(window, tokens.size() - begin));
    sequence.reset();
    ML_CHECK(engine->check_tokens(sequence, part));
    Batch batch;
    batch.add(sequence, part);
    engine->forward(batch);
    if (options.progress) options.progress(begin + part.size());
  }
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (wanted[i]) ML_CHECK(finish(sums[i], tokens.size(), i));
  }
  return sums;
}

}  // namespace ml
