#include "convert/family.hpp"
#include "formats/folder.hpp"
#include "formats/inspect.hpp"
#include "formats/inspect_tensors.hpp"
#include "formats/shards.hpp"
#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxPrefix = 100;  // bytes of a field's name that it has of the objects around it

// The keys of config.json as far as they are single values; what they mean is the description's business.
void add_config_fields(const json& object, const std::string& prefix, FileReport& report) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_null()) continue;  // the same as a missing key
    if (value.is_object()) {
      const std::size_t end = character_begin(name, std::min(name.size(), kMaxPrefix));
      add_config_fields(value, name.substr(0, end) + ".", report);
    } else if (value.is_number_unsigned()) {
      report.fields.push_back({name, value.get<std::uint64_t>()});
    } else if (value.is_number_integer()) {
      report.fields.push_back({name, value.get<std::int64_t>()});
    } else if (value.is_number()) {
      report.fields.push_back({name, value.get<double>()});
    } else if (value.is_boolean()) {
      report.fields.push_back({name, value.get<bool>()});
    } else {
      report.fields.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
}

Result<void> add_config(const std::string& folder, FileReport& report) {
  const std::string path = path_in_folder(folder, "config.json");
  ML_TRY(auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  add_file(report, path, input);
  auto parsed = parse_json(as_text(input->data()));
  if (!parsed) return with_path(std::move(parsed.error()), path);
  if (parsed->is_object()) add_config_fields(*parsed, "", report);
  return {};
}

// Every shard that can be read at all, with all its defects.
void add_shards(const std::string& folder, const std::vector<std::string>& paths, FileReport& report) {
  const std::size_t n_before = report.defects.size();
  UnopenedFiles unopened;
  std::vector<SafetensorsFile> files;
  files.reserve(paths.size());
  std::vector<CheckpointEntry> entries;
  for (const std::string& path : paths) {
    auto input = InputBytes::open_regular(path);
    if (!input) {
      unopened.add(std::move(input.error()), report);
      continue;
    }
    const std::span<const std::byte> bytes = (*input)->data();
    add_file(report, path, std::move(*input));
    for (Error& defect : check_safetensors(bytes, &files.emplace_back()))
      report.defects.push_back(with_path(std::move(defect), path));
    for (const SafetensorsTensor& tensor : files.back().tensors) entries.push_back({&tensor, &path});
  }
  unopened.finish(folder, report);
  const bool complete = report.defects.size() == n_before;
  DefectList parts;
  if (auto added = add_tensors(entries, report, &parts); !added)
    report.defects.push_back(std::move(added.error()));
  // Where entries are refused, parts seem to be missing that are not.
  if (complete) {
    for (Error& defect : parts.take()) report.defects.push_back(std::move(defect));
  }
}

}  // namespace

Result<FileReport> inspect_folder(const std::string& folder, const InspectOptions& options) {
  FileReport report{.format = "folder", .title = "model folder"};
  if (auto config = add_config(folder, report); !config) {
    if (!options.check) return std::move(config.error());
    report.defects.push_back(std::move(config.error()));
  }
  if (const auto paths = find_shards(folder); paths) {
    add_shards(folder, *paths, report);
  } else {
    report.defects.push_back(paths.error());
  }
  if (!options.check && !report.defects.empty()) return std::move(report.defects.front());

  if (const auto family = checkpoint_family(folder))
    report.title += fmt::format(", {} family", (*family)->name);
  const bool files_sound = report.defects.empty();
  auto model = open_folder(folder, {});
  if (model) {
    report.desc = model->desc();
    if (options.check) check_weights(model->tensors(), options, report);
  } else if (files_sound && model.error().status == Status::unsupported) {
    report.note = describe(Error{model.error().status, model.error().message, {}, {}, model.error().tensor});
  } else if (!options.check) {
    return std::move(model.error());
  } else if (files_sound) {
    report.defects.push_back(std::move(model.error()));
  }
  if (options.check && !model) check_arrays(options, report);
  for (Error& defect : report.defects) defect = with_path(std::move(defect), folder);
  return report;
}

}  // namespace ml
