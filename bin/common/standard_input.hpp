#pragma once

#include <string>
#include <vector>

namespace cli {

/// @return "standard input" for "-", else the path: what messages call a file that a tool reads
std::string input_name(const std::string& path);

/// @param names  all files that a command reads; "-" is standard input, which can be read once
/// @return what is wrong with them: "standard input is named twice", or ""
std::string standard_input_problem(const std::vector<std::string>& names);

}  // namespace cli
