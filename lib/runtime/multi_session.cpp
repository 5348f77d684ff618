#include <ml/multi_session.hpp>

#include "runtime/engine.hpp"
#include "util/checked.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

struct MultiSession::Impl {
  std::unique_ptr<Engine> engine;
  std::vector<Sequence> sequences;
  std::vector<float> logits;  // [inputs][vocab] of the last eval()
};

MultiSession::MultiSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MultiSession::MultiSession(MultiSession&&) noexcept = default;
MultiSession& MultiSession::operator=(MultiSession&&) noexcept = default;
MultiSession::~MultiSession() = default;

Result<MultiSession> MultiSession::create(const Model& model, const SessionOptions& options,
                                          std::uint32_t n_sequences) {
  if (n_sequences == 0)
    return Error{.status = Status::arg, .message = "a session needs at least one sequence"};
  auto impl = std::make_unique<Impl>();
  ML_TRY(impl->engine, Engine::create(model, options, n_sequences));
  for (std::uint32_t i = 0; i < n_sequences; ++i) {
    ML_TRY(Sequence sequence, Sequence::create(model.desc(), impl->engine->options()));
    impl->sequences.push_back(std::move(sequence));
  }
  return MultiSession(std::move(impl));
}

Result<void> MultiSession::check(const Input& input) const {
  if (input.sequence >= impl_->sequences.size()) {
    return Error{
        .status = Status::arg,
        .message = fmt::format("sequence is {}, must be below {}", input.sequence, impl_->sequences.size())};
  }
  return impl_->engine->check_tokens(impl_->sequences[input.sequence], input.tokens);
}

Result<std::vector<std::span<const float>>> MultiSession::eval(std::span<const Input> inputs) {
  Engine& engine = *impl_->engine;
  std::vector<bool> seen(impl_->sequences.size());
  for (const Input& input : inputs) {
    ML_CHECK(check(input));
    if (seen[input.sequence]) {
      return Error{.status = Status::arg,
                   .message = fmt::format("sequence {} is there twice", input.sequence)};
    }
    seen[input.sequence] = true;
  }
  const std::uint64_t vocab = engine.desc().vocab;
  impl_->logits.resize(vector_size<float>(Checked(inputs.size()) * vocab));
  std::vector<std::size_t> done(inputs.size());
  for (std::size_t next = 0; next < inputs.size();) {
    // A pass takes what fits, in the order of the inputs; a long one goes on in the next pass.
    Batch batch;
    std::vector<std::uint64_t> last_rows;
    std::vector<std::size_t> finished;
    while (next < inputs.size() && batch.n_tokens() < engine.options().batch) {
      const Input& input = inputs[next];
      const std::size_t n =
          std::min<std::size_t>(engine.options().batch - batch.n_tokens(), input.tokens.size() - done[next]);
      batch.add(impl_->sequences[input.sequence], input.tokens.subspan(done[next], n));
      done[next] += n;
      if (done[next] < input.tokens.size()) break;
      last_rows.push_back(batch.n_tokens() - 1);
      finished.push_back(next++);
    }
    engine.forward(batch);
    for (std::size_t i = 0; i < last_rows.size(); i += Engine::kLogitsRows) {
      const auto rows =
          std::span(last_rows).subspan(i, std::min<std::size_t>(Engine::kLogitsRows, last_rows.size() - i));
      const std::span<const float> logits = engine.classify(rows);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(r * vocab), vocab,
                    impl_->logits.begin() + static_cast<std::ptrdiff_t>(finished[i + r] * vocab));
      }
    }
  }
  std::vector<std::span<const float>> result;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.push_back(std::span<const float>(impl_->logits).subspan(i * vocab, vocab));
  return result;
}

void MultiSession::reset(std::uint32_t sequence) { impl_->sequences[sequence].reset(); }
std::uint32_t MultiSession::n_sequences() const {
  return static_cast<std::uint32_t>(impl_->sequences.size());
}
std::uint32_t MultiSession::position(std::uint32_t sequence) const {
  return impl_->sequences[sequence].position();
}
std::uint32_t MultiSession::ctx() const { return impl_->engine->options().ctx; }

}  // namespace ml
