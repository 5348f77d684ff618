#pragma once

#include "common/tool.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mlb_quant {

/// What the command line of mlb-quant says.
struct Arguments {
  std::string input = "-";
  std::string output = "-";
  std::string type = "q8_0";
  std::string scales = "f32";
  std::vector<std::string> q8;
  std::string q4_rule = "search";
  std::string imatrix;
  std::uint32_t max_seq = 0;
  bool requantize = false;
  bool dry_run = false;
  bool json = false;
};

/// Adds the options of mlb-quant to its table.
void add_options(CLI::App& app, Arguments& arguments);

}  // namespace mlb_quant
