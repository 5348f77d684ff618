#include "runtime/session_impl.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ml {

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  auto impl = std::make_unique<Impl>();
  ML_TRY(impl->engine, Engine::create(model, options, 1));
  ML_TRY(impl->sequence, Sequence::create(model.desc(), impl->engine->options()));
  return Session(std::move(impl));
}

Result<std::span<const float>> Session::eval(std::span<const std::uint32_t> tokens) {
  Engine& engine = *impl_->engine;
  ML_CHECK(engine.check_tokens(impl_->sequence, tokens));
  std::size_t n = 0;
  for (std::size_t begin = 0; begin < tokens.size(); begin += n) {
    n = std::min<std::size_t>(engine.options().batch, tokens.size() - begin);
    Batch batch;
    batch.add(impl_->sequence, tokens.subspan(begin, n));
    engine.forward(batch);
  }
  const std::uint64_t last = n - 1;
  return engine.classify({&last, 1});
}

Result<void> Session::eval(std::span<const std::uint32_t> tokens, const LogitsSink& sink, std::size_t first) {
  Engine& engine = *impl_->engine;
  ML_CHECK(engine.check_tokens(impl_->sequence, tokens));
  const std::uint64_t vocab = engine.desc().vocab;
  for (std::size_t begin = 0; begin < tokens.size();) {
    const std::uint32_t position = impl_->sequence.position();
    const std::size_t n = std::min<std::size_t>(engine.options().batch, tokens.size() - begin);
    Batch batch;
    batch.add(impl_->sequence, tokens.subspan(begin, n));
    engine.forward(batch);
    for (std::size_t row = first > begin ? first - begin : 0; row < n; row += Engine::kLogitsRows) {
      std::vector<std::uint64_t> rows(std::min<std::size_t>(Engine::kLogitsRows, n - row));
      std::iota(rows.begin(), rows.end(), row);
      const std::span<const float> logits = engine.classify(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        sink(position + static_cast<std::uint32_t>(row + i), logits.subspan(i * vocab, vocab));
      }
    }
    begin += n;
  }
  return {};
}

Result<void> Session::mark() { return impl_->sequence.mark(); }
Result<std::uint32_t> Session::rewind(std::uint32_t position) {
  const Engine& engine = *impl_->engine;
  const bool windows = std::any_of(engine.desc().layers.begin(), engine.desc().layers.end(),
                                   [](const LayerDesc& layer) { return layer.windowed; });
  const std::uint32_t end = impl_->sequence.position();
  if (windows && position < end && end - position > engine.options().batch) {
    return Error{.status = Status::limit,
                 .message = fmt::format("{} tokens cannot be dropped, windows keep {} at most",
                                        end - position, engine.options().batch)};
  }
  return impl_->sequence.rewind(position);
}

void Session::reset() { impl_->sequence.reset(); }
std::uint32_t Session::position() const { return impl_->sequence.position(); }
std::span<const std::uint32_t> Session::tokens() const { return impl_->sequence.tokens; }
std::uint32_t Session::ctx() const { return impl_->engine->options().ctx; }
std::uint64_t Session::kv_bytes() const { return impl_->sequence.n_bytes(); }
std::uint64_t Session::scratch_bytes() const { return impl_->engine->scratch_bytes(); }

}  // namespace ml
