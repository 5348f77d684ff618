#pragma once

#include "ml_eval/evaluator.hpp"

#include <nlohmann/json.hpp>

#include <string>

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
};

/// Prints a table.
void print_text(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options);

/// Prints a JSON object.
void print_json(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options);

/// Joins results that print_json() made.
void merge(cli::Tool& tool, const Options& options);

}  // namespace ml_eval
