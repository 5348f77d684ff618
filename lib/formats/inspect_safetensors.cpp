#include "formats/inspect.hpp"
#include "formats/inspect_tensors.hpp"
#include "formats/safetensors.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <charconv>

namespace ml {

namespace {

// The number after "layers." or the like, so that rows can be told by layer: "model.layers.12.mlp..." is 12.
std::uint32_t layer_of(std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    std::uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + name.size(), layer);
    if (error == std::errc() && (end == name.data() + name.size() || *end == '.')) return layer;
  }
  return kNoLayer;
}

// A tensor with where it lies.
struct Placed {
  std::uint32_t file;
  std::uint64_t offset;
  const CheckpointTensor* tensor;
};

std::vector<Placed> in_file_order(std::span<const CheckpointTensor> tensors, const FileReport& report) {
  TextMap<std::uint32_t> numbers;
  for (std::size_t i = 0; i < report.files.size(); ++i)
    numbers.emplace(report.files[i].path, static_cast<std::uint32_t>(i));
  std::vector<Placed> placed;
  placed.reserve(tensors.size());
  for (const CheckpointTensor& tensor : tensors)
    placed.push_back({numbers.at(*tensor.entry->path), tensor.entry->tensor->offset, &tensor});
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });
  return placed;
}

}  // namespace

Result<void> add_tensors(std::span<const CheckpointEntry> entries, FileReport& report, DefectList* defects) {
  ML_TRY(const std::vector<CheckpointTensor> tensors, join_entries(entries, defects));
  for (const Placed& placed : in_file_order(tensors, report)) {
    const CheckpointTensor& tensor = *placed.tensor;
    const SafetensorsTensor& entry = *tensor.entry->tensor;
    InfoArray info{.name = tensor.name,
                   .layer = layer_of(tensor.name),
                   .encoding = std::string(tensor.dtype),
                   .shape = tensor.shape,
                   .file = placed.file,
                   .offset = entry.offset,
                   .data = entry.data};
    std::transform(info.encoding.begin(), info.encoding.end(), info.encoding.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (tensor.view) {
      info.view = tensor.view;
      for (const auto part : {tensor.view->scales, tensor.view->biases, tensor.view->seeds}) {
        if (!part.empty()) info.more.push_back(part);
      }
    }
    if (tensor.orphan) report.warnings.push_back(orphan_warning(tensor));
    report.arrays.push_back(std::move(info));
  }
  return {};
}

Result<FileReport> inspect_safetensors(std::shared_ptr<const InputBytes> input, const std::string& path,
                                       const InspectOptions& options) {
  FileReport report{.format = "safetensors", .title = "safetensors file"};
  add_file(report, path, input);
  SafetensorsFile file;
  if (options.check) {
    report.defects = check_safetensors(input->data(), &file);
    if (file.header_bytes == 0) return report;  // that cannot be read
  } else {
    ML_TRY(file, read_safetensors(input->data()));
  }
  report.fields.push_back({"header_bytes", file.header_bytes, 0, "length of the JSON header"});
  for (auto& [key, text] : file.metadata) report.fields.push_back({"metadata." + key, std::move(text)});
  std::vector<CheckpointEntry> entries;
  for (const SafetensorsTensor& tensor : file.tensors) entries.push_back({&tensor, &report.files[0].path});
  DefectList parts;
  const bool complete = report.defects.empty();
  ML_CHECK(add_tensors(entries, report, options.check ? &parts : nullptr));
  if (!options.check) return report;
  // Where entries are refused, parts seem to be missing that are not.
  if (complete) report.defects = parts.take();
  check_arrays(options, report);
  return report;
}

}  // namespace ml
