#include "latent/compare.hpp"

#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

constexpr std::uint64_t kMostFloats = 1u << 26;

}  // namespace

Result<LogitsBase> LogitsBase::create(const Model& model, std::span<const std::uint32_t> tokens,
                                      std::uint32_t most, const SessionOptions& options) {
  if (tokens.size() < 2)
    return Error{.status = Status::arg, .message = "fewer than 2 tokens to compare with"};
  const ModelDesc& desc = model.desc();
  const std::uint64_t fits = std::max<std::uint64_t>(kMostFloats / desc.vocab, 1) + 1;
  const std::uint64_t n = std::min<std::uint64_t>({fits, most, tokens.size(), desc.max_seq});
  LogitsBase base;
  base.options_ = options;
  base.options_.ctx = static_cast<std::uint32_t>(n);
  base.tokens_.assign(tokens.end() - static_cast<std::ptrdiff_t>(n), tokens.end());
  ML_TRY(Session session, Session::create(model, base.options_));
  ML_CHECK(session.eval(std::span(base.tokens_).first(n - 1), [&](std::uint32_t, std::span<const float> row) {
    base.logits_.insert(base.logits_.end(), row.begin(), row.end());
  }));
  return base;
}

Result<EvaluationSums> LogitsBase::compare(const Model& other) const {
  ML_TRY(Session session, Session::create(other, options_));
  EvaluationSums sums;
  std::optional<Error> error;
  const auto add = [&](std::uint32_t position, std::span<const float> row) {
    if (error) return;
    const auto base = std::span(logits_).subspan(position * row.size(), row.size());
    auto score = score_token(row, tokens_[position + 1]);
    auto base_score = score_token(base, tokens_[position + 1]);
    if (!score || !base_score) {
      error = score ? base_score.error() : score.error();
      return;
    }
    sums.add(position, *score, *base_score, kl_divergence(base, row, *score));
  };
  ML_CHECK(session.eval(std::span(tokens_).first(tokens_.size() - 1), add));
  if (error) return *std::move(error);
  return sums;
}

}  // namespace ml
