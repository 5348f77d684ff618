#pragma once

#include "common/values.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

/// One row of a tool's option table, as --help and the completions need it.
struct OptionRow {
  std::vector<std::string> short_names;  ///< "o"
  std::vector<std::string> long_names;   ///< "output"
  std::string argument;                  ///< "FILE"; empty for a flag
  std::vector<Values> values;            ///< what each of its values may be; empty for a flag
  std::optional<Values> operands;        ///< of a flag: what all operands are once it is given
  std::string description;
  std::string default_value;
  std::string group;  ///< heading in --help
  bool operand = false;
  bool required = false;
  bool many = false;  ///< may be given more than once
};

/// @return the visible rows: operands, the tool's own options in their order, then the common ones
std::vector<OptionRow> option_table(const CLI::App& app);

/// Heading of the options that all tools share.
inline constexpr const char* kCommonGroup = "Common options";

}  // namespace cli
