#pragma once

// Recipes: JSON that says which tensors of a checkpoint become which slots of a .mog (mog-pack(1), RECIPES).

#include <ml/status.hpp>

#include "formats/shards.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// A mistake in a recipe: "tensors[1].entries[0].encoding is ..."; the path of the recipe is added by the
/// caller.
Error recipe_error(const std::string& at, std::string message, Status status = Status::format);

/// The files that a recipe names, opened once they are needed.
class RecipeFiles {
 public:
  /// @param files  the recipe's object: names to paths below `root`
  static Result<RecipeFiles> create(const nlohmann::json& files, std::string root);

  bool has(const std::string& name) const { return paths_.contains(name); }
  /// @return where a file lies
  Result<std::string> path(const std::string& name, const std::string& at) const;
  /// @return the JSON of a file
  Result<const nlohmann::json*> document(const std::string& name, const std::string& at);
  /// @return the value at a path of keys and indices joined by dots; keys of text_config count as keys at the
  /// top where the top lacks them
  Result<const nlohmann::json*> value(const nlohmann::json& reference, const std::string& at);

  struct Found {
    const SafetensorsTensor* tensor = nullptr;  ///< null: the file has none of that name
    const Shard* shard = nullptr;
  };
  /// Looks a tensor up in a .safetensors file, or in all shards of a folder or an index.
  Result<Found> tensor(const std::string& name, const std::string& tensor, const std::string& at);

  /// Paths of all files that were opened; some that are named may not exist.
  std::vector<std::string> opened() const;

 private:
  struct Weights {
    std::vector<Shard> shards;
    std::map<std::string_view, Found> tensors;
  };

  std::map<std::string, std::string> paths_;
  std::map<std::string, std::unique_ptr<nlohmann::json>> documents_;
  std::map<std::string, std::unique_ptr<Weights>> weights_;
};

/// One entry of `tensors`, its variables replaced.
struct RecipeEntry {
  std::string at;  ///< "tensors[1].entries[0]", for messages
  std::string name;
  std::string file;
  std::string path;
  std::string encoding;
  std::vector<std::string> transforms;
  bool optional = false;
  bool round = false;  ///< "rule": "round"
};

/// Entries of one recipe at most: more than a model has slots.
inline constexpr std::size_t kMaxRecipeEntries = 1 << 17;
/// Bytes of their names, files, paths, encodings and transforms at most, kRecipeTextBytes more for each text.
inline constexpr std::size_t kMaxRecipeBytes = 64 << 20;
inline constexpr std::size_t kRecipeTextBytes = 32;

/// All entries in order, loops unrolled.
Result<std::vector<RecipeEntry>> expand_entries(const nlohmann::json& tensors, RecipeFiles& files);

/// Refuses keys that are not in the list, and missing ones. @param at  where the object stands; "" for the
/// recipe
Result<void> check_recipe_keys(const nlohmann::json& object, const std::string& at,
                               std::initializer_list<std::string_view> required,
                               std::initializer_list<std::string_view> optional);

}  // namespace ml
