#pragma once

#include "common/option_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// @param shell  "bash", "zsh" or "fish"
/// @return       a completion script for a tool with these options; operands complete to file names
std::string completion_script(std::string_view shell, const std::string& tool,
                              const std::vector<OptionRow>& rows);

}  // namespace cli
