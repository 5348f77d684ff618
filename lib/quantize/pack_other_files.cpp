#include "quantize/pack_other_files.hpp"

#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace ml {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Beside the shards, where the input has them.
constexpr std::array<std::string_view, 5> kCopied{"tokenizer.json", "tokenizer_config.json",
                                                  "special_tokens_map.json", "chat_template.jinja",
                                                  "generation_config.json"};
constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kModelFile = "model_file";
constexpr std::string_view kLoaderPart = "nanoseedlm_seeds.py";
constexpr std::string_view kWeight = ".weight";

bool is_affine(const LayoutTensor& tensor) {
  return tensor.dtype.empty() && encoding_info(tensor.encoding).bias_bytes != 0;
}

Result<ordered_json> read_config(const std::string& path) {
  ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  auto parsed = parse_ordered_json(as_text(input->data()));
  if (!parsed) return with_path(std::move(parsed.error()), path);
  if (!parsed->is_object())
    return Error{.status = Status::format, .message = "is no JSON object", .path = path};
  return *std::move(parsed);
}

// Why the file that a config.json calls its loader cannot be copied; "" where it can.
std::string why_no_loader(const std::string& folder, const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != name.npos)
    return "which is no name of a file in the folder";
  if (is_file_of_folder(name)) return "which another file of the folder is called";
  std::error_code error;
  const fs::file_status status = fs::status(path_in_folder(folder, name), error);
  if (!fs::exists(status)) return "which is not there";
  return fs::is_regular_file(status) ? "" : "which is no regular file";
}

// The loader that the source has: without it a program that reads the folder through it would not. Takes the
// key away where there is none. @return its path, or ""
std::string loader_of_source(const std::string& folder, ordered_json& config,
                             std::vector<std::string>& notes) {
  const auto found = config.find(kModelFile);
  if (found == config.end()) return {};
  const std::string name = found->is_string() ? found->get<std::string>() : std::string();
  const std::string problem =
      found->is_string() ? why_no_loader(folder, name) : "which is no name of a file in the folder";
  if (problem.empty()) return path_in_folder(folder, name);
  notes.push_back(fmt::format(
      "{}: {} is {}, {}: left out", path_in_folder(folder, kConfig), kModelFile,
      found->is_string() ? fmt::format("\"{}\"", show_name(name)) : show_json(nlohmann::json(*found)),
      problem));
  config.erase(kModelFile);
  return {};
}

// The keys of the written folder.
void change_config(ordered_json& config, const SeedPackOptions& options,
                   const std::vector<LayoutTensor>& tensors) {
  for (const char* key : {"auto_map", "quantization"}) config.erase(key);
  if (options.latent != nullptr) {
    config["mla_ranks"] = options.latent->ranks;
    config["mla_rope_dim"] = 128;
  }
  if (std::any_of(tensors.begin(), tensors.end(), is_affine)) {
    ordered_json quantization{{"group_size", 64}, {"bits", 8}, {"mode", "affine"}};
    for (const LayoutTensor& tensor : tensors) {
      if (!is_affine(tensor) || tensor.encoding == Encoding::q8g64) continue;
      std::string module = tensor.name;
      if (module.ends_with(kWeight)) module.resize(module.size() - kWeight.size());
      append_key(quantization.get_ref<ordered_json::object_t&>(), module) = {
          {"group_size", encoding_info(tensor.encoding).block_weights}, {"bits", 4}};
    }
    config["quantization"] = std::move(quantization);
  }
}

void add_loader(const std::string& loader, std::vector<std::string>& copies) {
  copies.push_back(loader);
  std::error_code error;
  const std::string part = fs::path(loader).replace_filename(kLoaderPart).string();
  if (part != loader && fs::exists(part, error)) copies.push_back(part);
}

}  // namespace

bool is_file_of_folder(std::string_view name) {
  return name == kConfig || name == kShardIndex || name.ends_with(".safetensors") ||
         std::find(kCopied.begin(), kCopied.end(), name) != kCopied.end();
}

Result<void> find_other_files(const std::string& input, const SeedPackOptions& options, PackPlan& plan) {
  std::error_code error;
  std::string loader = options.loader;
  if (const std::string path = path_in_folder(input, kConfig); fs::exists(path, error)) {
    ML_TRY(ordered_json config, read_config(path));
    if (loader.empty()) {
      loader = loader_of_source(input, config, plan.report.notes);
    } else {
      config.erase(kModelFile);
    }
    change_config(config, options, plan.tensors);
    if (!options.loader.empty()) config[std::string(kModelFile)] = fs::path(loader).filename().string();
    plan.config = config.dump(2) + "\n";
    plan.report.files.emplace_back(kConfig);
  }
  for (const std::string_view name : kCopied) {
    if (const std::string path = path_in_folder(input, name); fs::exists(path, error))
      plan.copies.push_back(path);
  }
  if (!loader.empty()) add_loader(loader, plan.copies);
  for (const std::string& path : plan.copies) {
    ML_CHECK(open_copied(path));  // now, not after the search
    plan.report.files.push_back(fs::path(path).filename().string());
  }
  plan.report.files.emplace_back(kShardIndex);
  plan.owned = plan.report.files;
  plan.owned.emplace_back(kConfig);
  for (const std::string_view name : kCopied) plan.owned.emplace_back(name);
  return {};
}

Result<std::shared_ptr<const InputBytes>> open_copied(const std::string& path) {
  return InputBytes::open_regular(path, kMaxJsonBytes);
}

}  // namespace ml
