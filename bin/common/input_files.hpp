#pragma once

#include <string>
#include <vector>

namespace cli {

/// All files that reading `input` may read, which an output must not replace: itself, what lies in it where
/// it is a folder. "-" stays what it is: OutputFile knows it as standard input.
std::vector<std::string> input_files(const std::string& input);

}  // namespace cli
