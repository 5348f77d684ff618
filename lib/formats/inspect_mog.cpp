#include "formats/inspect.hpp"
#include "formats/mlb_layout.hpp"
#include "formats/mog_layout.hpp"
#include "formats/mog_read.hpp"
#include "formats/mog_tokenizer.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

using Bytes = std::span<const std::byte>;

InfoField::Value field_value(Bytes bytes, const MogField& field) {
  const std::byte* at = bytes.data() + field.offset;
  switch (field.type) {
    case MogType::tag: return std::string("MOG");
    case MogType::u32: return std::uint64_t{load_le<std::uint32_t>(at)};
    case MogType::u64: return load_le<std::uint64_t>(at);
    case MogType::f32: return load_le<float>(at);
    case MogType::zeros:
    case MogType::bytes: break;
  }
  return std::string();
}

void add_fields(Bytes bytes, const MogPreamble& preamble, FileReport& report) {
  for (const MogField& field : mog_fields()) {
    if (field.type == MogType::zeros || field.type == MogType::bytes) continue;
    report.fields.push_back(
        {std::string(field.name), field_value(bytes, field), field.offset, std::string(field.meaning)});
  }
  for (const MogArchitecture& row : mog_architectures()) {
    if (row.id == preamble.architecture)
      report.fields.push_back({"architecture_name", std::string(row.name), {}, "the architecture in words"});
  }
}

void add_tokenizer(Bytes section, FileReport& report) {
  const auto tokens = MogTokens::read(section);
  if (!tokens) return;
  const MltContents& contents = tokens->contents();
  report.fields.push_back({"tokenizer_kind",
                           static_cast<std::uint64_t>(contents.kind),
                           {},
                           "tokenizer: 1 SentencePiece-style BPE, 2 byte-level BPE"});
  report.fields.push_back(
      {"tokenizer_n_vocab", std::uint64_t{contents.tokens.size()}, {}, "tokenizer: tokens"});
  report.fields.push_back(
      {"tokenizer_n_merges", std::uint64_t{tokens->n_merges()}, {}, "tokenizer: merge rules"});
  report.fields.push_back({"tokenizer_bos",
                           std::int64_t{contents.bos},
                           {},
                           "tokenizer: id of the first token of a text; -1: none"});
  report.fields.push_back({"tokenizer_eos",
                           std::int64_t{contents.eos},
                           {},
                           "tokenizer: id of the last token of a text; -1: none"});
  report.fields.push_back({"tokenizer_flag_names",
                           fmt::format("{}", fmt::join(tokenizer_flag_names(contents.flags), ",")),
                           {},
                           "tokenizer: the flags in words"});
}

void add_arrays(const MogFile& file, Bytes bytes, FileReport& report) {
  const auto add_section = [&](std::string name, std::uint64_t offset, std::uint64_t size) {
    report.arrays.push_back({.name = std::move(name),
                             .encoding = "u8",
                             .shape = {size},
                             .offset = offset,
                             .data = bytes.subspan(offset, size)});
  };
  add_section("layer_flags", kMogConfigAt + offsetof(MogConfig, layer_flags), file.config.n_layers);
  if (file.preamble.tokenizer_offset != 0)
    add_section("tokenizer", file.preamble.tokenizer_offset, file.preamble.tokenizer_size);
  for (const MlbArray& array : file.tensors) {
    const TensorView view = array_view(bytes, array);
    report.arrays.push_back({.name = mog_slot_name({array.role, array.layer}),
                             .layer = array.layer,
                             .encoding = std::string(encoding_info(array.encoding).name),
                             .scale_type = array.scale_type,
                             .shape = mog_dims(file.desc, array.role)[1] == 0
                                          ? std::vector<std::uint64_t>{array.cols}
                                          : std::vector<std::uint64_t>{array.rows, array.cols},
                             .offset = array.offset,
                             .scale_offset = array.scale_offset,
                             .data = view.data,
                             .scales = view.scales,
                             .view = view});
  }
}

}  // namespace

Result<FileReport> inspect_mog(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options) {
  const Bytes bytes = input->data();
  FileReport report{.format = "mog", .title = ".mog model"};
  add_file(report, path, input);
  MogDirectory directory = read_mog_directory(bytes);
  if (!options.check && !directory.defects.empty()) return std::move(directory.defects.front());
  if (options.check) report.defects = check_mog(bytes, options.threads, options.progress);
  if (!directory.has_config) return report;
  add_fields(bytes, directory.file.preamble, report);
  if (!directory.defects.empty()) return report;
  const MogFile& file = directory.file;
  report.title = fmt::format(".mog model, version {}", file.preamble.version);
  if (file.preamble.tokenizer_offset != 0)
    add_tokenizer(bytes.subspan(file.preamble.tokenizer_offset, file.preamble.tokenizer_size), report);
  add_arrays(file, bytes, report);
  report.desc = std::move(directory.file.desc);
  return report;
}

}  // namespace ml
