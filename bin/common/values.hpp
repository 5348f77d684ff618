#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// What a value of an option or an operand may be: what messages and completions know.
struct Values {
  std::vector<std::string> names = {};  ///< a fixed set
  std::string separators = {};   ///< characters between several names in one value; empty: it is one name
  bool after_separator = false;  ///< no name stands before the first separator: GLOB=NAME
  bool files = false;            ///< it names a file or a folder
  std::vector<std::string> suffixes = {};  ///< of these files; empty: any
  bool recipes = false;                    ///< those of share/mlutils/recipes, too

  /// True for one name of a set and nothing else.
  bool one_name() const { return !names.empty() && separators.empty(); }
};

/// Names with separators between them: --q8 CLASS[,CLASS...].
Values list_of(std::vector<std::string> names, std::string separators = ",");
/// PATTERN=NAME.
Values pattern_with(std::vector<std::string> names);
/// Files with these suffixes, and folders.
Values files_with(std::vector<std::string> suffixes);
/// Recipes of mog-pack(1).
Values recipe_files();
/// What ml::Tokenizer::open() takes.
Values tokenizer_files();
/// What ml::Model::open() takes.
Values model_files();

/// Encodings that mog-pack(1) knows.
std::vector<std::string> mog_encoding_names();

/// A type name for CLI11 that shows `shown` and carries what its values may be, one item for each value:
/// option->type_name(type_of("CLASS[,CLASS...]", {list_of(names)})).
std::string type_of(std::string_view shown, std::span<const Values> values);
inline std::string type_of(std::string_view shown, const Values& value) {
  return type_of(shown, {&value, 1});
}
/// The same for a flag after which operands are something else.
inline std::string operands_are(const Values& value) { return type_of("", value); }

/// @return  what type_of() put into a type name; nothing where it was made otherwise
std::optional<std::vector<Values>> values_in(std::string_view type);

/// What is usual for a value that is shown so ("MODEL", "OUT.mlb"); none of all where nothing is.
Values usual_values(std::string_view shown);

}  // namespace cli
