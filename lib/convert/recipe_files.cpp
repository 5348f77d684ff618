#include "convert/recipe.hpp"

#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

namespace ml {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool leaves_root(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return true;
  const fs::path normal = path.lexically_normal();
  return !normal.empty() && *normal.begin() == "..";
}

// One key, or an index of a list.
const json* step(const json& value, std::string_view key) {
  if (value.is_object()) {
    const auto found = value.find(std::string(key));
    return found == value.end() ? nullptr : &*found;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool whole = error == std::errc() && end == key.data() + key.size();
  return value.is_array() && whole && index < value.size() ? &value[index] : nullptr;
}

const json* walk(const json* value, std::string_view path) {
  while (value != nullptr) {
    const std::size_t dot = path.find('.');
    value = step(*value, path.substr(0, dot));
    if (dot == path.npos) return value;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

}  // namespace

Error recipe_error(const std::string& at, std::string message, Status status) {
  return {.status = status, .message = at.empty() ? std::move(message) : fmt::format("{} {}", at, message)};
}

Result<void> check_recipe_keys(const json& object, const std::string& at,
                               std::initializer_list<std::string_view> required,
                               std::initializer_list<std::string_view> optional) {
  if (!object.is_object()) {
    return recipe_error(at.empty() ? "recipe" : at,
                        fmt::format("is {}, must be an object", show_json(object)));
  }
  std::vector<std::string_view> known(required);
  known.insert(known.end(), optional.begin(), optional.end());
  const std::string prefix = at.empty() ? "" : at + ".";
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return recipe_error(prefix + show_name(key),
                          fmt::format("is an unknown key, must be one of {}", fmt::join(known, ", ")));
    }
  }
  for (const std::string_view key : required) {
    if (!object.contains(key)) return recipe_error(prefix + std::string(key), "is missing");
  }
  return {};
}

Result<RecipeFiles> RecipeFiles::create(const json& files, std::string root) {
  RecipeFiles result;
  if (!files.is_object()) return recipe_error("files", "must be an object of names and paths");
  for (const auto& [name, path] : files.items()) {
    const std::string at = "files." + show_name(name);
    if (!path.is_string()) return recipe_error(at, fmt::format("is {}, must be a path", show_json(path)));
    const auto& text = path.get_ref<const std::string&>();
    if (text.find('\0') != text.npos || leaves_root(text)) {
      return recipe_error(at, fmt::format("is \"{}\", must be a path below the root", show_name(text)));
    }
    result.paths_.emplace(name, (fs::path(root) / text).lexically_normal().string());
  }
  return result;
}

Result<std::string> RecipeFiles::path(const std::string& name, const std::string& at) const {
  const auto found = paths_.find(name);
  if (found != paths_.end()) return found->second;
  NameList names;
  for (const auto& [known, path] : paths_) names.add(known);
  return recipe_error(at, fmt::format("is \"{}\", must be a name in files: {}", show_name(name),
                                      names.empty() ? "there is none" : names.names()));
}

Result<const json*> RecipeFiles::document(const std::string& name, const std::string& at) {
  ML_TRY(const std::string path, this->path(name, at));
  std::unique_ptr<json>& document = documents_[name];
  if (document == nullptr) {
    ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
    auto parsed = parse_json(as_text(input->data()));
    if (!parsed) return with_path(std::move(parsed.error()), path);
    document = std::make_unique<json>(std::move(*parsed));
  }
  return static_cast<const json*>(document.get());
}

Result<const json*> RecipeFiles::value(const json& reference, const std::string& at) {
  ML_CHECK(check_recipe_keys(reference, at, {"file", "path"}, {}));
  for (const char* key : {"file", "path"}) {
    if (!reference[key].is_string()) {
      return recipe_error(fmt::format("{}.{}", at, key),
                          fmt::format("is {}, must be a string", show_json(reference[key])));
    }
  }
  const auto& path = reference["path"].get_ref<const std::string&>();
  ML_TRY(const json* document, this->document(reference["file"].get<std::string>(), at + ".file"));
  const json* found = walk(document, path);
  if (found == nullptr) found = walk(step(*document, "text_config"), path);
  if (found == nullptr || found->is_null()) {
    return recipe_error(at + ".path", fmt::format("is \"{}\", which {} does not have", show_name(path),
                                                  show_name(reference["file"].get<std::string>())));
  }
  return found;
}

Result<RecipeFiles::Found> RecipeFiles::tensor(const std::string& name, const std::string& tensor,
                                               const std::string& at) {
  ML_TRY(const std::string path, this->path(name, at + ".file"));
  std::unique_ptr<Weights>& weights = weights_[name];
  if (weights == nullptr) {
    auto opened = std::make_unique<Weights>();
    ML_TRY(opened->shards, open_weights(path));
    for (const Shard& shard : opened->shards) {
      for (const SafetensorsTensor& entry : shard.file.tensors)
        opened->tensors[entry.name] = {&entry, &shard};
    }
    weights = std::move(opened);
  }
  const auto found = weights->tensors.find(tensor);
  return found == weights->tensors.end() ? Found() : found->second;
}

std::vector<std::string> RecipeFiles::opened() const {
  std::vector<std::string> paths;
  for (const auto& [name, path] : paths_) {
    paths.push_back(path);
    paths.push_back(path_in_folder(path, kShardIndex));
  }
  for (const auto& [name, weights] : weights_) {
    if (weights == nullptr) continue;
    for (const Shard& shard : weights->shards) paths.push_back(shard.path);
  }
  return paths;
}

}  // namespace ml
