#pragma once

#include "common/html_page.hpp"
#include "ml_bench/measure.hpp"
#include "ml_eval/evaluator.hpp"

#include <ml/mog_pack.hpp>
#include <ml/output.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ml_bench {

/// One way to pack a checkpoint: an item of the list of --encodings.
struct Variant {
  std::string name;  ///< as the list has it
  ml::MogPack pack;
  std::string path = {};  ///< of the .mog in the temporary folder
  std::optional<ml_eval::Result> scores = {};
};

/// Everything that --encodings found. Row pointers are null for a length of 0.
struct Comparison {
  std::vector<Variant> variants;
  Results results;  ///< models in the order of the variants

  const Row* find(std::size_t variant, bool decode) const;
};

/// Packs the variants to a temporary folder, measures and scores them, and prints the table.
void compare_encodings(cli::Tool& tool, const Options& options);

/// The page of --html.
cli::HtmlPage encodings_page(const Comparison& comparison, const Options& options);

/// Prints it in the format that the options name.
void print_encodings(cli::Tool& tool, const Comparison& comparison, const Options& options);

}  // namespace ml_bench
