#pragma once

// What the three shells' scripts share.

#include "common/option_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

std::string replaced(std::string text, std::string_view from, std::string_view to);
/// One word for a POSIX shell.
std::string quoted(const std::string& text);
std::string joined(const std::vector<std::string>& words, std::string_view separator);
/// "-o", "--output"
std::vector<std::string> dashed_names(const OptionRow& row);
/// Up to the first full stop: a completion menu has one line for each option.
std::string short_description(const OptionRow& row);
/// A part of a function's name: "ml_run".
std::string identifier(const std::string& tool);

std::string bash_completion(const std::string& tool, const std::vector<OptionRow>& rows);
std::string zsh_completion(const std::string& tool, const std::vector<OptionRow>& rows);
std::string fish_completion(const std::string& tool, const std::vector<OptionRow>& rows);

}  // namespace cli
