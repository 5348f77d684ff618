#pragma once

#include <ml/mog_pack.hpp>

#include "convert/recipe_tensor.hpp"
#include "formats/mog_write.hpp"

namespace ml {

/// A recipe, looked up: what goes where, and from which tensor.
struct MogPack::Impl {
  std::string recipe;
  MogPackOptions options;
  std::unique_ptr<RecipeFiles> files;
  std::string tokenizer;  // its path; empty where the recipe names none
  MogPackReport report;
  MogPlan plan;
  std::vector<RecipeTensor> sources;  // one for each of report.tensors
  std::vector<bool> round;            // its 4-bit rule
};

/// Writes the payload of a plan whose head is written.
Result<void> write_mog_payload(const MogPack::Impl& pack, OutputFile& out, std::uint64_t start);

}  // namespace ml
