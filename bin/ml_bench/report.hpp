#pragma once

#include "common/html_page.hpp"
#include "ml_bench/measure.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ml_bench {

/// An object with everything of one row; its names stay.
nlohmann::ordered_json to_json(const Row& row, const Results& results, const Options& options);

/// Prints all rows in the format that the options name.
void print(cli::Tool& tool, const Results& results, const Options& options);

/// Prints objects as csv, json or jsonl.
void print_rows(cli::Tool& tool, const std::vector<nlohmann::ordered_json>& rows, const Options& options);

/// A table for people: a head, then rows.
using Cells = std::vector<std::vector<std::string>>;

/// Speeds.
Cells speed_table(const Results& results, const Options& options);
/// Load, first token and memory.
Cells model_table(const Results& results);
/// What this machine could do, a line for each number of threads and target.
std::string limit_lines(const Results& results);
/// @param columns  a letter each: l is text, r is a number, on the right
void print_markdown_table(cli::Tool& tool, const Cells& cells, std::string_view columns);
inline constexpr std::string_view kSpeedColumns = "lrrlrlrrrr";
inline constexpr std::string_view kModelColumns = "lrrr";

/// The page of --html.
cli::HtmlPage html_page(const Results& results, const Options& options);

/// A path or a name as a cell of a table shows it: on one line, as UTF-8, and not the end of the cell.
std::string cell(const std::string& text);

/// "CPU, 2 cores, Linux ...; mlutils 0.1.0"
std::string machine_line(const Results& results);

/// The value of --acts.
const char* acts_name(const Options& options);

/// Adds what holds for the whole run: machine, version and time.
void add_run(nlohmann::ordered_json& json, const Results& results);

/// Compares with the rows of a baseline and says so. A slowdown over --fail-above and the noise, another
/// digest, and what was asked for and could not be compared fail.
void compare(cli::Tool& tool, const Results& results, const Options& options,
             const std::vector<nlohmann::ordered_json>& baseline);

/// Reads what --format json or jsonl wrote.
///
/// @error io, format
ml::Result<std::vector<nlohmann::ordered_json>> read_baseline(const std::string& path);

}  // namespace ml_bench
