#pragma once

#include <ml/inspect.hpp>

#include "common/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlb_info {

/// What the command line asks for.
struct Wanted {
  std::string format = "text";  ///< or "json", "csv"
  bool header = false;
  bool tensors = false;
  bool stats = false;
  bool map = false;
  bool hash = false;
  bool check = false;
  bool diff = false;
  bool strict = false;

  bool json() const { return format == "json"; }
  bool rows() const { return tensors || stats || hash; }
  bool statistics() const { return stats || map; }
};

/// What takes a pass over the data; empty where it was not asked for.
struct Details {
  std::vector<std::optional<ml::TensorStats>> stats;  // by array
  std::vector<std::string> array_hashes;              // by array
  std::vector<std::string> file_hashes;               // by file
};

/// Reads the arrays as far as `wanted` needs it, with a progress line.
Details read_details(const ml::FileReport& report, const Wanted& wanted, const cli::Tool& tool);

/// Weights and bytes of all tensors that share an encoding and a scale type.
struct EncodingTotal {
  std::string name;  ///< "q8_0", "q8_0/f16"
  std::uint64_t n_tensors = 0;
  std::uint64_t n_weights = 0;
  std::uint64_t n_bytes = 0;
};
std::vector<EncodingTotal> encoding_totals(const ml::FileReport& report);

/// The report of one file as text, or as one JSON object on one line.
void print_text(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
                const Details& details, const Wanted& wanted);
/// The line of a file that cannot be read: {"file": ..., "error": ..., "status": ...}.
void print_json_error(cli::Tool& tool, const std::string& path, const ml::Error& error);
void print_json(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
                const Details& details, const Wanted& wanted);

/// A row for each array, as the JSON object has them under "tensors", with the file's path before it.
std::vector<nlohmann::ordered_json> array_rows(const std::string& path, const ml::FileReport& report,
                                               const Details& details);

/// Shades of the root mean square of each kind of matrix, layer by layer, and of its largest weight over
/// that.
void print_map(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
               const Details& details);

/// Prints how two files differ. @return true when they do
bool print_diff(cli::Tool& tool, const ml::FileReport& a, const ml::FileReport& b, const std::string& path_a,
                const std::string& path_b, bool json);

}  // namespace mlb_info
