#include "formats/shards.hpp"

#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::string_view kModelStart = "model";
constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kDeltaName = "model-mla-delta.safetensors";

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Tensor -> shard, both as the index spells them. Empty where the folder has no index.
using WeightMap = std::map<std::string, std::string>;

Result<WeightMap> read_index(const std::string& path) {
  WeightMap map;
  const auto refuse = [&path](std::string message, std::string tensor = {}) {
    return Error{
        .status = Status::format, .message = std::move(message), .path = path, .tensor = std::move(tensor)};
  };
  ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  auto parsed = parse_json(as_text(input->data()));
  if (!parsed) return with_path(std::move(parsed.error()), path);
  const auto weights = parsed->is_object() ? parsed->find("weight_map") : parsed->end();
  if (weights == parsed->end()) return refuse("weight_map is missing");
  if (!weights->is_object() || weights->empty()) {
    return refuse("weight_map must be an object that names a file for each tensor");
  }
  for (const auto& [tensor, shard] : weights->items()) {
    if (!shard.is_string()) {
      return refuse(fmt::format("weight_map gives {}, must give a file name", show_json(shard)),
                    show_name(tensor));
    }
    const auto& name = shard.get_ref<const std::string&>();
    // A file of this folder: no other folder, no NUL that would cut the name short.
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      return refuse(fmt::format("weight_map gives \"{}\", must be the name of a file in the model's folder",
                                show_name(name)),
                    show_name(tensor));
    }
    map.emplace(tensor, name);
  }
  return map;
}

Result<WeightMap> read_index_of(const std::string& folder) {
  const std::string path = path_in_folder(folder, kShardIndex);
  return exists(path) ? read_index(path) : WeightMap();
}

std::string numbered_name(std::uint32_t number, std::uint32_t count) {
  return fmt::format("model-{:05}-of-{:05}{}", number, count, kExtension);
}

// 3 and 7 of "model-00003-of-00007.safetensors".
std::optional<std::pair<std::uint32_t, std::uint32_t>> numbers_of(const std::string& name) {
  constexpr std::size_t kNumberAt = 6, kCountAt = 15, kDigits = 5;
  const auto digits = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < std::min(at + kDigits, name.size()); ++i)
      value = 10 * value + static_cast<std::uint32_t>(static_cast<unsigned char>(name[i]) - '0');
    return value;
  };
  const std::uint32_t number = digits(kNumberAt), count = digits(kCountAt);
  if (number == 0 || number > count || name != numbered_name(number, count)) return {};
  return std::pair(number, count);
}

// The rest of a model without some of its numbered files would look like a model of fewer tensors.
Result<void> check_numbered_sets(const std::string& folder, const std::vector<std::string>& names) {
  std::map<std::uint32_t, std::set<std::uint32_t>> sets;  // count -> numbers
  for (const std::string& name : names) {
    if (const auto numbers = numbers_of(name)) sets[numbers->second].insert(numbers->first);
  }
  for (const auto& [count, numbers] : sets) {
    if (numbers.size() == count) continue;
    std::uint32_t missing = 1;
    while (numbers.contains(missing)) ++missing;
    return Error{.status = Status::format,
                 .message = fmt::format("{} is missing: the folder has {} of {} files of that kind and no {}",
                                        numbered_name(missing, count), numbers.size(), count, kShardIndex),
                 .path = folder};
  }
  return {};
}

// Without an index: every model*.safetensors, else the only .safetensors.
Result<std::vector<std::string>> find_without_index(const std::string& folder) {
  std::vector<std::string> models;
  std::vector<std::string> others;
  bool delta = false;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kExtension)) continue;
    if (name == kDeltaName) {
      delta = true;  // added to whatever the others are
    } else {
      (name.starts_with(kModelStart) ? models : others).push_back(name);
    }
  }
  if (error) {
    return Error{
        .status = Status::io, .message = "cannot read the folder", .path = folder, .os_errno = error.value()};
  }
  std::sort(models.begin(), models.end());
  std::sort(others.begin(), others.end());
  ML_CHECK(check_numbered_sets(folder, models));
  std::vector<std::string>& names = models.empty() ? others : models;
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(path_in_folder(folder, name));
  if (!models.empty() || others.size() == 1 || (others.empty() && delta)) return paths;
  NameList list;
  for (const std::string& path : paths) list.add(path);
  const std::string problem =
      others.empty() ? "folder has no .safetensors file"
                     : fmt::format("folder has {} but no {}", list.text(".safetensors file"), kShardIndex);
  return Error{.status = Status::format, .message = problem, .path = folder};
}

// A tensor is in the shard that the index names, and in no other one.
Result<void> check_against_index(const std::string& folder, const WeightMap& index,
                                 const std::vector<Shard>& shards) {
  TextMap<const std::string*> holders;
  for (const Shard& shard : shards) {
    for (const SafetensorsTensor& tensor : shard.file.tensors) {
      const auto [entry, fresh] = holders.emplace(tensor.name, &shard.path);
      if (!fresh) {
        return Error{.status = Status::format,
                     .message = fmt::format("tensor is also in {}", *entry->second),
                     .path = shard.path,
                     .tensor = show_name(tensor.name)};
      }
    }
  }
  NameList missing;
  std::string from;
  for (const auto& [tensor, shard] : index) {
    const std::string path = path_in_folder(folder, shard);
    if (const auto holder = holders.find(tensor); holder != holders.end() && *holder->second == path)
      continue;
    if (missing.empty()) from = path;
    if (path == from) missing.add(tensor);
  }
  if (missing.empty()) return {};
  return Error{.status = Status::format,
               .message = fmt::format("the index names {} that the shard lacks", missing.text("tensor")),
               .path = from};
}

Result<std::vector<std::string>> shards_of(const std::string& folder, const WeightMap& index) {
  std::vector<std::string> paths;
  if (index.empty()) {
    ML_TRY(paths, find_without_index(folder));
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : index) names.insert(shard);
  if (exists(path_in_folder(folder, kDeltaName))) names.emplace(kDeltaName);
  for (const std::string& name : names) paths.push_back(path_in_folder(folder, name));
  return paths;
}

Result<std::vector<Shard>> open_all(const std::string& folder, const WeightMap& index,
                                    const std::vector<std::string>& paths) {
  std::vector<Shard> shards;
  for (const std::string& path : paths) {
    ML_TRY(auto input, InputBytes::open_regular(path));
    auto file = read_safetensors(input->data());
    if (!file) return with_path(std::move(file.error()), path);
    shards.push_back({path, std::move(input), std::move(*file)});
  }
  ML_CHECK(check_against_index(folder, index, shards));
  return shards;
}

}  // namespace

std::string path_in_folder(const std::string& folder, std::string_view name) {
  return folder.ends_with('/') ? folder + std::string(name) : fmt::format("{}/{}", folder, name);
}

Result<std::vector<std::string>> find_shards(const std::string& folder) {
  ML_TRY(const WeightMap index, read_index_of(folder));
  return shards_of(folder, index);
}

Result<std::vector<Shard>> open_shards(const std::string& folder) {
  ML_TRY(const WeightMap index, read_index_of(folder));
  ML_TRY(const std::vector<std::string> paths, shards_of(folder, index));
  return open_all(folder, index, paths);
}

Result<std::vector<Shard>> open_weights(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_shards(path);
  ML_TRY(const auto input, InputBytes::open_regular(path));
  if (looks_like_safetensors(input->data())) return open_all({}, {}, {path});
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  ML_TRY(const WeightMap index, read_index(path));
  ML_TRY(const std::vector<std::string> paths, shards_of(folder, index));
  return open_all(folder, index, paths);
}

}  // namespace ml
