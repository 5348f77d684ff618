// What the operands, -m and -p mean.

#include "ml_run/options.hpp"

#include <utility>

namespace cli {

namespace {

// Moves `value` to its place, which must be free.
std::string settle(std::string& value, std::string& place, const char* problem) {
  if (value.empty()) return "";
  if (!place.empty()) return problem;
  place = std::exchange(value, {});
  return "";
}

}  // namespace

std::string settle_operands(RunOptions& options) {
  const bool operand = !options.model.empty() && options.named_model.empty();
  std::string problem;
  if (operand) {
    problem = settle(options.m, options.tokenizer, "-m and --tokenizer exclude each other");
    if (problem.empty())
      problem = settle(options.p, options.prompt_file, "-p and --prompt-file exclude each other");
  } else {
    if (!options.model.empty())
      options.prompt.insert(options.prompt.begin(), std::exchange(options.model, {}));
    problem = settle(options.m, options.named_model, "-m and --model exclude each other");
    if (!options.p.empty()) {
      if (options.prompt_text) return "-p and --prompt exclude each other";
      options.prompt_text = std::exchange(options.p, {});
    }
    options.model = std::exchange(options.named_model, {});
    if (options.model.empty()) return "MODEL is missing";
  }
  if (!problem.empty()) return problem;
  if (options.prompt_text) {
    if (!options.prompt.empty()) return "PROMPT and --prompt exclude each other";
    options.prompt.push_back(*std::exchange(options.prompt_text, std::nullopt));
  }
  return "";
}

}  // namespace cli
