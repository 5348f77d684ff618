#include "common/completion.hpp"

#include "common/completion_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> dashed_names(const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string& name : row.short_names) names.push_back("-" + name);
  for (const std::string& name : row.long_names) names.push_back("--" + name);
  return names;
}

std::string short_description(const OptionRow& row) {
  const std::string& text = row.description;
  return text.substr(0, std::min(text.find(". "), text.find("; ")));
}

std::string identifier(const std::string& tool) { return replaced(tool, "-", "_"); }

std::string completion_script(std::string_view shell, const std::string& tool,
                              const std::vector<OptionRow>& rows) {
  if (shell == "bash") return bash_completion(tool, rows);
  if (shell == "zsh") return zsh_completion(tool, rows);
  return fish_completion(tool, rows);
}

}  // namespace cli
