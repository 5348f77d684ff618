#pragma once

#include "ml_eval/texts.hpp"

#include <ml/evaluation.hpp>
#include <ml/logits_file.hpp>
#include <ml/model.hpp>
#include <ml/session.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ml_eval {

/// What one window gave.
struct WindowResult {
  std::size_t text = 0;  ///< index
  std::uint64_t begin = 0;
  std::uint64_t n_tokens = 0;
  double nll = 0;  ///< means over its tokens
  double kl = 0;
};

struct Result {
  ml::EvaluationSums sums;
  std::vector<WindowResult> windows;
};

/// Rows of logits that a model is compared with: those of another model, or of a file.
class Base {
 public:
  /// @param name  for messages
  Base(ml::Session session, std::string name) : name_(std::move(name)), session_(std::move(session)) {}
  Base(ml::LogitsFile file, std::string name) : name_(std::move(name)), file_(std::move(file)) {}

  void begin_window();
  /// The rows of tokens[first] and what follows, one for each of `scores`, whose tokens they predict.
  ml::Result<void> read(std::span<const std::uint32_t> tokens, std::size_t first,
                        std::span<const std::uint32_t> targets, std::uint32_t n_before,
                        std::span<float> logits, std::span<ml::TokenScore> scores);
  /// True where the scores come with the rows, and need not be computed.
  bool has_scores() const { return file_.has_value(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::optional<ml::Session> session_;
  std::optional<ml::LogitsFile> file_;
  std::uint64_t next_row_ = 0;
};

/// Runs a model over the windows of a plan and scores it. Memory is bounded by one pass.
class Evaluator {
 public:
  /// @param base     null: none  @param writer  null: none
  Evaluator(const Plan& plan, ml::Session& session, std::uint32_t vocab, std::uint32_t batch,
            unsigned n_threads, Base* base, ml::LogitsWriter* writer);

  /// @param progress  is told how many tokens were read, again and again
  ml::Result<Result> run(const std::function<void(std::uint64_t)>& progress);

 private:
  ml::Result<void> run_window(const Text& text, const ml::EvaluationWindow& window, Result& result,
                              const std::function<void(std::uint64_t)>& progress);
  ml::Result<void> run_chunk(std::span<const std::uint32_t> inputs, std::size_t first,
                             std::span<const std::uint32_t> targets, std::uint32_t n_before, Result& result);

  const Plan& plan_;
  ml::Session& session_;
  std::uint32_t vocab_;
  std::uint32_t n_rows_;  // tokens a pass
  unsigned n_threads_;
  Base* base_;
  ml::LogitsWriter* writer_;
  std::vector<float> logits_, base_logits_;  // [n_rows][vocab]
  std::vector<ml::TokenScore> scores_, base_scores_;
  std::vector<double> kl_;
  double window_nll_ = 0;
  double window_kl_ = 0;
};

}  // namespace ml_eval
