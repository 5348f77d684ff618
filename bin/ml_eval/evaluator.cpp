#include "ml_eval/evaluator.hpp"

#include "common/for_each_index.hpp"

#include <algorithm>
#include <utility>

namespace ml_eval {

namespace {

// Logits of a pass take this much memory at most, unless the vocabulary is very large.
constexpr std::uint64_t kLogitBytes = 32u << 20;
constexpr std::uint64_t kLeastRows = 16;  // what the library computes at a time

}  // namespace

void Base::begin_window() {
  if (session_) session_->reset();
}

ml::Result<void> Base::read(std::span<const std::uint32_t> tokens, std::size_t first,
                            std::span<const std::uint32_t> targets, std::uint32_t n_before,
                            std::span<float> logits, std::span<ml::TokenScore> scores) {
  const std::size_t vocab = targets.empty() ? 0 : logits.size() / targets.size();
  if (session_) {
    std::size_t row = 0;
    return session_->eval(
        tokens,
        [&](std::uint32_t, std::span<const float> from) {
          std::copy(from.begin(), from.end(), logits.begin() + static_cast<std::ptrdiff_t>(row++ * vocab));
        },
        first);
  }
  for (std::size_t i = 0; i < targets.size(); ++i, ++next_row_) {
    const auto row = file_->read(next_row_, logits.subspan(i * vocab, vocab));
    if (!row) return row.error();
    if (row->token != targets[i] || row->n_before != n_before + i) {
      return ml::Error{.status = ml::Status::arg,
                       .message = fmt::format("row {} is token {} after {}, the text has token {} after {}",
                                              next_row_, row->token, row->n_before, targets[i], n_before + i),
                       .path = name_};
    }
    scores[i] = row->score;
  }
  return {};
}

Evaluator::Evaluator(const Plan& plan, ml::Session& session, std::uint32_t vocab, std::uint32_t batch,
                     unsigned n_threads, Base* base, ml::LogitsWriter* writer)
    : plan_(plan), session_(session), vocab_(vocab), n_threads_(n_threads), base_(base), writer_(writer) {
  const std::uint64_t rows = std::max(kLeastRows, kLogitBytes / (sizeof(float) * vocab));
  n_rows_ = static_cast<std::uint32_t>(std::min<std::uint64_t>({rows, batch, plan.ctx}));
  const std::size_t n_logits = std::size_t(n_rows_) * vocab;
  logits_.resize(n_logits);
  scores_.resize(n_rows_);
  if (base == nullptr) return;
  base_logits_.resize(n_logits);
  base_scores_.resize(n_rows_);
  kl_.resize(n_rows_);
}

ml::Result<Result> Evaluator::run(const std::function<void(std::uint64_t)>& progress) {
  Result result;
  ml::Result<void> done;
  plan_.for_each_window([&](const Text& text, const ml::EvaluationWindow& window) {
    done = run_window(text, window, result, progress);
    return bool(done);
  });
  if (!done) return done.error();
  return result;
}

ml::Result<void> Evaluator::run_window(const Text& text, const ml::EvaluationWindow& window, Result& result,
                                       const std::function<void(std::uint64_t)>& progress) {
  const auto begin = text.tokens.begin() + static_cast<std::ptrdiff_t>(window.begin);
  std::vector<std::uint32_t> inputs(begin, begin + window.n_inputs);
  if (plan_.bos) inputs[0] = *plan_.bos;
  const std::span<const std::uint32_t> targets(&*begin + 1, window.n_inputs);
  session_.reset();
  if (base_ != nullptr) base_->begin_window();
  window_nll_ = window_kl_ = 0;
  for (std::uint32_t at = 0; at < window.n_inputs;) {
    const std::uint32_t n = std::min(n_rows_, window.n_inputs - at);
    const std::uint32_t first = std::clamp(window.first_scored, at, at + n) - at;
    const auto done = run_chunk(std::span(inputs).subspan(at, n), first,
                                targets.subspan(at + first, n - first), at + first + 1, result);
    if (!done) return done.error();
    progress(n);
    at += n;
  }
  const std::uint32_t n_scored = window.n_inputs - window.first_scored;
  result.windows.push_back({.text = static_cast<std::size_t>(&text - plan_.texts.data()),
                            .begin = window.begin,
                            .n_tokens = n_scored,
                            .nll = window_nll_ / n_scored,
                            .kl = window_kl_ / n_scored});
  return {};
}

ml::Result<void> Evaluator::run_chunk(std::span<const std::uint32_t> inputs, std::size_t first,
                                      std::span<const std::uint32_t> targets, std::uint32_t n_before,
                                      Result& result) {
  const std::size_t n = targets.size();
  const auto row_of = [&](std::vector<float>& rows, std::size_t i) {
    return std::span(rows).subspan(i * vocab_, vocab_);
  };
  std::size_t n_rows = 0;
  const auto read = session_.eval(
      inputs,
      [&](std::uint32_t, std::span<const float> row) {
        std::copy(row.begin(), row.end(), row_of(logits_, n_rows++).begin());
      },
      first);
  if (!read) return read.error();
  if (base_ != nullptr) {
    auto base = base_->read(inputs, first, targets, n_before, std::span(base_logits_).first(n * vocab_),
                            std::span(base_scores_).first(n));
    if (!base) return ml::with_path(base.error(), base_->name());
  }

  std::vector<std::optional<ml::Error>> errors(n);
  cli::for_each_index(n, n_threads_, [&](std::size_t i) {
    const auto score_row = [&](std::vector<float>& rows, ml::TokenScore& to) {
      auto score = ml::score_token(row_of(rows, i), targets[i]);
      if (!score) {
        errors[i] = std::move(score.error());
        return false;
      }
      to = *score;
      return true;
    };
    if (!score_row(logits_, scores_[i]) || base_ == nullptr) return;
    if (!base_->has_scores() && !score_row(base_logits_, base_scores_[i])) {
      errors[i] = ml::with_path(*errors[i], base_->name());
      return;
    }
    kl_[i] = ml::kl_divergence(row_of(base_logits_, i), row_of(logits_, i), scores_[i]);
  });

  for (std::size_t i = 0; i < n; ++i) {
    if (errors[i]) return *errors[i];
    const auto before = n_before + static_cast<std::uint32_t>(i);
    window_nll_ += scores_[i].nll;
    if (base_ == nullptr) {
      result.sums.add(before, scores_[i]);
    } else {
      result.sums.add(before, scores_[i], base_scores_[i], kl_[i]);
      window_kl_ += kl_[i];
    }
    if (writer_ == nullptr) continue;
    auto written =
        writer_->write({.token = targets[i], .n_before = before, .score = scores_[i]}, row_of(logits_, i));
    if (!written) return written;
  }
  return {};
}

}  // namespace ml_eval
