#include "common/standard_input.hpp"

#include <algorithm>

namespace cli {

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string standard_input_problem(const std::vector<std::string>& names) {
  return std::count(names.begin(), names.end(), "-") > 1 ? "standard input is named twice" : "";
}

}  // namespace cli
