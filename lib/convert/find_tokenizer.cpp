#include <ml/mog.hpp>
#include <ml/tokenizer.hpp>

#include <filesystem>
#include <system_error>
#include <vector>

namespace ml {

std::string find_tokenizer(const std::string& model) {
  namespace fs = std::filesystem;
  if (has_own_tokenizer(model)) return model;
  std::error_code ignored;
  if (mog_holds_tokenizer(model)) return model;
  const fs::path path(model);
  const bool folder = fs::is_directory(path, ignored);
  const fs::path beside = folder ? path : path.parent_path();
  std::vector<fs::path> candidates;
  if (!folder) candidates.push_back(fs::path(path).replace_extension(".mlt"));
  candidates.push_back(beside / "model.mlt");
  candidates.push_back(beside / "tokenizer.json");
  for (const fs::path& candidate : candidates) {
    if (model != "-" && fs::is_regular_file(candidate, ignored)) return candidate.string();
  }
  return {};
}

}  // namespace ml
