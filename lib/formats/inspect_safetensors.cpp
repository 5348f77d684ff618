#include "formats/inspect.hpp"
#include "formats/inspect_tensors.hpp"
#include "formats/safetensors.hpp"
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

// Weights as rows: the last dimension runs along them.
TensorView view_of(const SafetensorsTensor& tensor) {
  TensorView view{.encoding = *tensor.dtype->encoding, .rows = 1, .cols = 1, .data = tensor.data};
  if (!tensor.shape.empty()) view.cols = tensor.shape.back();
  const std::uint64_t n = tensor.data.size() * 8 / tensor.dtype->bits;
  view.rows = view.cols == 0 ? 0 : n / view.cols;
  return view;
}

}  // namespace

void add_tensors(const SafetensorsFile& file, std::uint32_t file_index, FileReport& report) {
  for (const SafetensorsTensor& tensor : file.tensors) {
    InfoArray info{.name = tensor.name,
                   .layer = layer_of(tensor.name),
                   .encoding = std::string(tensor.dtype->name),
                   .shape = tensor.shape,
                   .file = file_index,
                   .offset = tensor.offset,
                   .data = tensor.data};
    std::transform(info.encoding.begin(), info.encoding.end(), info.encoding.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (tensor.dtype->encoding && !tensor.data.empty()) info.view = view_of(tensor);
    report.arrays.push_back(std::move(info));
  }
}

Result<FileReport> inspect_safetensors(std::shared_ptr<const InputBytes> input, const std::string& path,
                                       const InspectOptions& options) {
  FileReport report{.format = "safetensors", .title = "safetensors file"};
  add_file(report, path, input);
  if (options.check) report.defects = check_safetensors(input->data());
  auto file = read_safetensors(input->data());
  if (!file) {
    if (!options.check) return std::move(file.error());
    return report;
  }
  report.fields.push_back({"header_bytes", file->header_bytes, 0, "length of the JSON header"});
  for (auto& [key, text] : file->metadata) report.fields.push_back({"metadata." + key, std::move(text)});
  add_tensors(*file, 0, report);
  return report;
}

}  // namespace ml
