#include "formats/inspect.hpp"
#include "formats/mlb_layout.hpp"

#include <ml/mlb.hpp>

#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <bit>

namespace ml {

namespace {

InfoField::Value field_value(const MlbHeader& header, const MlbField& field) {
  switch (field.type) {
    case MlbType::u32: return std::uint64_t{mlb_field_word(header, field)};
    case MlbType::f32: return std::bit_cast<float>(mlb_field_word(header, field));
    case MlbType::tag:
    case MlbType::zeros: break;
  }
  return mlb_field_value(header, field);
}

void add_fields(const MlbHeader& header, FileReport& report) {
  for (const MlbField& field : mlb_fields()) {
    if (field.type == MlbType::zeros) continue;
    report.fields.push_back(
        {std::string(field.name), field_value(header, field), field.offset, std::string(field.meaning)});
  }
}

void add_arrays(const MlbFile& file, std::span<const std::byte> bytes, FileReport& report) {
  if (!file.layer_flags.empty()) {
    const std::uint64_t n = file.layer_flags.size();
    report.arrays.push_back({.name = "layer_flags",
                             .encoding = "u8",
                             .shape = {n},
                             .offset = kMlbHeaderBytes,
                             .data = bytes.subspan(kMlbHeaderBytes, n)});
  }
  for (const MlbArray& array : file.arrays) {
    InfoArray info{.name = array.name(),
                   .layer = array.layer,
                   .encoding = std::string(encoding_info(array.encoding).name),
                   .scale_type = array.scale_type,
                   .shape = array.rows == 1 ? std::vector<std::uint64_t>{array.cols}
                                            : std::vector<std::uint64_t>{array.rows, array.cols},
                   .offset = array.offset,
                   .scale_offset = array.scale_offset,
                   .data = bytes.subspan(array.offset, array.n_bytes)};
    if (array.n_scale_bytes != 0) info.scales = bytes.subspan(array.scale_offset, array.n_scale_bytes);
    info.view = TensorView{array.encoding, array.scale_type, array.rows, array.cols, info.data, info.scales};
    report.arrays.push_back(std::move(info));
  }
}

}  // namespace

Result<FileReport> inspect_mlb(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  FileReport report{.format = "mlb", .title = ".mlb model"};
  add_file(report, path, input);
  if (options.check) report.defects = check_mlb(bytes, options.threads, options.progress);

  auto file = read_mlb(bytes);
  if (!file) {
    if (!options.check) return std::move(file.error());
    if (bytes.size() >= kMlbHeaderBytes) add_fields(load_mlb_header(bytes), report);
    return report;
  }
  report.title = fmt::format(".mlb model, version {}", file->header.version);
  add_fields(file->header, report);
  add_arrays(*file, bytes, report);
  report.desc = std::move(file->desc);
  return report;
}

}  // namespace ml
