#pragma once

#include "common/html_page.hpp"
#include "ml_eval/evaluator.hpp"
#include "ml_eval/parts.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ml_eval {

/// What a result is about, for its text and its JSON.
struct About {
  std::string model;
  std::string against;
  std::vector<std::string> texts;  ///< names of the files
  std::uint64_t n_texts = 0;
  std::uint64_t n_windows = 0;
  std::uint32_t ctx = 0;
  std::uint32_t stride = 0;
  bool bos = false;
  std::string activations;
  std::string kv;
  Parts parts;
};

using Rows = std::vector<std::vector<std::string>>;

/// Names and values for people: model, texts, perplexity, divergence.
Rows summary_rows(const About& about, const ml::EvaluationSums& sums);

/// A head, and a row for each class of positions with tokens.
Rows position_rows(const ml::EvaluationSums& sums);

/// A window, or some neighbours together.
struct WindowRow {
  std::string name;
  std::uint64_t n_tokens = 0;
  double value = 0;  ///< mean KL divergence over its tokens; -log probability where nothing is compared
};

/// A row for each window, or for as many neighbours as leave at most max_rows.
std::vector<WindowRow> window_rows(const Plan& plan, const Result& result, std::size_t max_rows);

/// The page of --html. @param plan  null: the windows are not known (--merge)
cli::HtmlPage html_page(const About& about, const Plan* plan, const Result& result);

/// Prints a table.
void print_text(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options);

/// Prints the result in the format that the options name.
void print(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
           const Options& options);

/// Joins results of --format json.
void merge(cli::Tool& tool, const Options& options);

}  // namespace ml_eval
