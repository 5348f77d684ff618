// What the operands, -m and -p mean.

#include "ml_run/options.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
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

// A matrix over the words "text.txt" would be one of next to nothing, and look like any other.
std::string imatrix_problem(const RunOptions& options) {
  if (options.imatrix.empty() || !names_files(options.prompt)) return "";
  return fmt::format(
      "the prompt of --imatrix is the text '{0}', and a file has that name: --file {0} reads it",
      options.prompt.front());
}

}  // namespace

bool names_files(const std::vector<std::string>& prompt) {
  return !prompt.empty() && std::all_of(prompt.begin(), prompt.end(), [](const std::string& word) {
    std::error_code error;
    const auto status = std::filesystem::status(word, error);
    return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
  });
}

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
  return imatrix_problem(options);
}

}  // namespace cli
