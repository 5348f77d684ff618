#include "convert/gguf_copy.hpp"
#include "convert/gguf_imatrix.hpp"
#include "convert/gguf_tensors.hpp"
#include "formats/inspect.hpp"
#include "formats/inspect_tensors.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ml {

namespace {

constexpr std::uint64_t kShownElements = 4;  // of an array

std::string lower(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// "[<unk>, <s>, </s>, <0x00>, ...] 32000 strings"
std::string array_text(const GgufValue& value) {
  std::vector<std::string> shown;
  if (const auto texts = value.texts(kShownElements)) {
    for (const std::string_view text : *texts)
      shown.push_back(show_gguf_value({.type = GgufType::string, .bytes = as_bytes(text)}));
  } else if (value.is_list()) {
    for (std::uint64_t i = 0; i < value.n && i < kShownElements; ++i)
      shown.push_back(show_gguf_value(value.at(i)));
  }
  if (value.n > shown.size()) shown.push_back("...");
  return fmt::format("[{}] {} x {}", fmt::join(shown, ", "), value.n, *gguf_type_name(value.element));
}

InfoField::Value field_value(const GgufValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto flag = value.flag()) return *flag;
  if (const auto count = value.count()) return *count;
  if (value.type == GgufType::f32) return load_le<float>(value.bytes.data());
  if (value.type == GgufType::array) return array_text(value);
  if (value.type == GgufType::f64) return load_le<double>(value.bytes.data());
  if (value.type == GgufType::i64) return load_le<std::int64_t>(value.bytes.data());
  return static_cast<std::int64_t>(*value.number());  // a negative whole number of at most 32 bits
}

std::uint32_t layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  std::uint32_t layer = 0;
  if (!name.starts_with(kPrefix)) return kNoLayer;
  const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return error == std::errc() ? layer : kNoLayer;
}

// Types whose elements are weights in blocks of their own.
bool is_packed(const GgufTensorType& type) { return type.block_weights > 1; }

void add_file_report(const GgufFile& file, std::uint32_t index, FileReport& report) {
  for (const GgufEntry& entry : file.entries) {
    std::string meaning(*gguf_type_name(entry.value.type));
    if (entry.value.type == GgufType::array)
      meaning += fmt::format(" of {}", *gguf_type_name(entry.value.element));
    report.fields.push_back(
        {std::string(entry.key), field_value(entry.value), entry.value.offset, std::move(meaning)});
  }
  for (const GgufTensor& tensor : file.tensors) {
    InfoArray info{.name = std::string(tensor.name),
                   .layer = layer_of(tensor.name),
                   .encoding = lower(tensor.type->name),
                   .shape = {tensor.dims.rbegin(), tensor.dims.rend()},
                   .file = index,
                   .offset = tensor.offset,
                   .data = tensor.data,
                   .packed = is_packed(*tensor.type)};
    if (tensor.type->encoding && !info.packed) {
      info.view = TensorView{.encoding = *tensor.type->encoding,
                             .rows = tensor.rows(),
                             .cols = tensor.cols(),
                             .data = tensor.data};
    }
    report.arrays.push_back(std::move(info));
  }
}

// The file and the splits that lie beside it, as far as they can be read.
void add_all_files(const std::shared_ptr<const InputBytes>& input, const std::string& path,
                   FileReport& report) {
  std::vector<std::string> paths{path};
  UnopenedFiles unopened;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto bytes =
        i == 0 ? Result<std::shared_ptr<const InputBytes>>(input) : InputBytes::open_regular(paths[i]);
    if (!bytes) {
      unopened.add(std::move(bytes.error()), report);
      continue;
    }
    add_file(report, paths[i], *bytes);
    GgufReading reading = check_gguf((*bytes)->data());
    for (Error& defect : reading.defects) report.defects.push_back(with_path(std::move(defect), paths[i]));
    add_file_report(reading.file, static_cast<std::uint32_t>(report.files.size() - 1), report);
    if (i != 0) continue;
    report.title = "GGUF file";
    if (reading.file.version != 0) report.title += fmt::format(", version {}", reading.file.version);
    auto all = gguf_split_paths(reading.file, path);
    if (all) {
      paths = std::move(*all);
    } else if (all.error().status != Status::unsupported) {  // a later split may be looked at on its own
      report.defects.push_back(std::move(all.error()));
    }
  }
  unopened.finish(path, report);
}

Result<ModelDesc> describe_files(const GgufFiles& files) {
  ML_TRY(const GgufArch* arch, find_gguf_arch(files.head()));
  return describe_gguf(files, *arch);
}

// llama.cpp's importance matrix.
Result<void> inspect_sums(const GgufFile& file, const InspectOptions& options, FileReport& report) {
  report.title = fmt::format("GGUF importance matrix, version {}", file.version);
  for (InfoArray& array : report.arrays) array.view.reset();  // no weights: imatrix-merge says what they are
  auto imatrix = read_gguf_imatrix(file);
  if (imatrix) {
    if (!imatrix->notes.empty()) report.note = imatrix->notes.front();
  } else if (!options.check) {
    return std::move(imatrix.error());
  } else {
    report.defects.push_back(std::move(imatrix.error()));
  }
  return {};
}

// What the files, all of them readable, are together.
Result<void> inspect_whole(const GgufFiles& files, const InspectOptions& options, FileReport& report) {
  if (is_gguf_imatrix(files.head())) return inspect_sums(files.head(), options, report);
  auto desc = describe_files(files);
  const bool vocabulary = report.arrays.empty();
  if (desc) {
    report.desc = std::move(*desc);
    const auto arch = find_gguf_arch(files.head());
    report.title += fmt::format(", {} architecture", (*arch)->name);
    if (options.check) report.defects = check_gguf_tensors(files, **arch, *report.desc);
  } else if (vocabulary || desc.error().status == Status::unsupported) {
    report.note = vocabulary ? "holds no tensors"
                             : describe(Error{.status = desc.error().status,
                                              .message = desc.error().message,
                                              .tensor = desc.error().tensor});
  } else if (!options.check) {
    return std::move(desc.error());
  } else {
    report.defects.push_back(std::move(desc.error()));
  }
  return {};
}

}  // namespace

Result<FileReport> inspect_gguf(std::shared_ptr<const InputBytes> input, const std::string& path,
                                const InspectOptions& options) {
  FileReport report{.format = "gguf"};
  add_all_files(input, path, report);
  if (!report.defects.empty()) {
    if (!options.check) return std::move(report.defects.front());
  } else if (auto files = GgufFiles::open(std::move(input), path); files) {
    ML_CHECK(inspect_whole(*files, options, report));
  } else if (files.error().status == Status::unsupported) {  // a split without the first one
    report.note = describe(files.error());
  } else if (!options.check) {
    return std::move(files.error());
  } else {
    report.defects.push_back(std::move(files.error()));
  }
  if (options.check) check_arrays(options, report);
  return report;
}

std::uint64_t InfoArray::n_weights() const {
  if (view) return view->n_weights();
  std::uint64_t n = packed ? 1 : 0;
  for (const std::uint64_t dim : shape) n *= dim;
  return n;
}

Result<LoadedWeights> load_weights(const InfoArray& array) {
  if (array.view) return LoadedWeights{*array.view, nullptr};
  const auto refuse = [&] {
    return Error{.status = Status::unsupported,
                 .message = fmt::format("weights of type {} cannot be decoded", array.encoding),
                 .tensor = array.name};
  };
  std::string name = array.encoding;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const GgufTensorType* type = array.packed ? find_gguf_tensor_type(name) : nullptr;
  if (type == nullptr) return refuse();
  GgufTensor tensor{.name = array.name,
                    .type = type,
                    .dims = {array.shape.rbegin(), array.shape.rend()},
                    .offset = array.offset,
                    .data = array.data};
  const std::string no_path;
  GgufTake take{.tensor = &tensor,
                .path = &no_path,
                .rows = tensor.rows(),
                .cols = tensor.cols(),
                .encoding = type->encoding.value_or(Encoding::f32)};
  if (!type->encoding) take.decode = find_ggml_decoder(type->name);
  if (!type->encoding && take.decode == nullptr) return refuse();
  std::vector<GgufTake> takes;
  takes.push_back(take);
  ML_TRY(MappedTensors mapped, copy_gguf_tensors(std::move(takes)));
  return LoadedWeights{mapped.tensors.front().view, std::move(mapped.storage.front())};
}

}  // namespace ml
