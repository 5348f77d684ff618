#pragma once

#include <ml/mog.hpp>

#include "convert/recipe.hpp"

namespace ml {

/// What a recipe makes of a model's configuration.
struct RecipeConfig {
  MogConfig config = {};
  ModelDesc desc = {};
  std::uint32_t source_hidden_dim = 0;  ///< below config.hidden_dim where zeros are added
  bool layout_given = false;            ///< the recipe says rope_layout itself
};

/// Reads `architecture` and `config`: the values that the recipe gives, or with "auto" those of config.json.
///
/// @error format, shape, unsupported  names the JSON path
Result<RecipeConfig> read_recipe_config(const nlohmann::json& recipe, RecipeFiles& files);

/// @return the architecture that the recipe names
Result<MogArchitecture> read_recipe_architecture(const nlohmann::json& recipe);

}  // namespace ml
