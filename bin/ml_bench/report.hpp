#pragma once

#include "ml_bench/measure.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace ml_bench {

/// An object with everything of one row; its names stay.
nlohmann::ordered_json to_json(const Row& row, const Results& results, const Options& options);

/// Prints all rows in the format that the options name.
void print(cli::Tool& tool, const Results& results, const Options& options);

/// Compares with the rows of a baseline and says so; a slowdown over --fail-above and the noise, and another
/// digest, fail.
void compare(cli::Tool& tool, const Results& results, const Options& options,
             const std::vector<nlohmann::ordered_json>& baseline);

/// Reads what --format json or jsonl wrote.
///
/// @error io, format
ml::Result<std::vector<nlohmann::ordered_json>> read_baseline(const std::string& path);

}  // namespace ml_bench
