#pragma once

#include "common/option_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// @return the text of --help: within 80 columns, the last line is the example
std::string help_text(std::string_view name, std::string_view summary, std::string_view example,
                      const std::vector<OptionRow>& rows);

}  // namespace cli
