#include "common/recipe_hint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <utility>

namespace cli {

ml::Error with_root_hint(ml::Error error, const std::string& recipe, const std::string& root,
                         std::string_view hint) {
  const bool beside =
      std::filesystem::path(error.path).parent_path() == std::filesystem::path(recipe).parent_path();
  if (!root.empty() || error.status != ml::Status::io || error.path == recipe || !beside) return error;
  if (const int number = std::exchange(error.os_errno, 0); number != 0)
    error.message += fmt::format(": {}", std::strerror(number));
  error.message += fmt::format("; {}", hint);
  return error;
}

}  // namespace cli
