#pragma once

#include "common/tool.hpp"

#include <string>
#include <vector>

namespace mlt_encode {

struct Options {
  std::string tokenizer;
  std::vector<std::string> files;
  std::string output = "-";
  std::string format = "ids";
  bool decode = false;
  bool lines = false;
  bool count = false;
  bool bos = false;
  bool no_bos = false;
  bool no_added = false;
  bool strict = false;

  bool raw() const { return format == "u16" || format == "u32"; }
  /// Each line of the input is a text.
  bool by_line() const { return lines || (decode && format == "jsonl"); }
};

void add_options(cli::Tool& tool, Options& options);

/// @return what is wrong with the combination of options, or nothing
std::string usage_problem(const Options& options);

}  // namespace mlt_encode
