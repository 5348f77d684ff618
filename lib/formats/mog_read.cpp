// Header, directory and bounds of a .mog (mog(5), VALIDATION).

#include "formats/mog_read.hpp"
#include "formats/defect_list.hpp"
#include "formats/mlb_layout.hpp"
#include "formats/mog.hpp"
#include "formats/mog_layout.hpp"
#include "formats/mog_tokenizer.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ml {

namespace {

using Bytes = std::span<const std::byte>;

std::uint64_t round_up(std::uint64_t n) {
  return n > UINT64_MAX - kMogAlignment ? n : (n + kMogAlignment - 1) / kMogAlignment * kMogAlignment;
}

Error bad(std::uint64_t offset, std::string message, Status status = Status::format) {
  return {.status = status, .message = std::move(message), .offset = offset};
}

Error too_short(std::uint64_t size, std::string_view what, std::uint64_t needed) {
  return bad(size, fmt::format("file is {} bytes, {} needs {}", size, what, needed));
}

// Earlier public files have the magic too.
std::string version_message(std::uint32_t version) {
  if (version == 1 || version == 2) {
    return fmt::format(
        "version is {}, an older public layout of .mog with a header of keys and values; must be {}", version,
        kMogVersion);
  }
  return fmt::format("version is {}, must be {}", version, kMogVersion);
}

// Sections follow each other, each at the first multiple of 64; `end` moves to the end of this one.
void check_section(std::string_view name, std::uint64_t offset, std::uint64_t size, std::uint64_t field_at,
                   std::uint64_t file_size, std::uint64_t& end, std::vector<Error>& defects) {
  const std::uint64_t wanted = round_up(end);
  const auto last = (Checked(offset) + size).get();
  if (offset % kMogAlignment != 0) {
    defects.push_back(
        bad(field_at, fmt::format("{}_offset is {}, must be a multiple of {}", name, offset, kMogAlignment)));
  } else if (offset < wanted) {
    defects.push_back(
        bad(field_at, fmt::format("{}_offset is {}, which overlaps what ends at {}", name, offset, end)));
  } else if (offset > wanted) {
    defects.push_back(bad(
        field_at,
        fmt::format("{}_offset is {}, must be {} (no more than padding before it)", name, offset, wanted)));
  } else if (!last) {
    defects.push_back(
        bad(field_at, fmt::format("{} of {} bytes at {} does not fit into 64 bits", name, size, offset)));
  } else if (*last > file_size) {
    defects.push_back(too_short(file_size, fmt::format("the {}", name), *last));
  }
  if (last) end = std::max(end, *last);
}

std::vector<Error> preamble_defects(const MogPreamble& p, std::uint32_t n_layers, std::uint64_t file_size) {
  std::vector<Error> defects;
  const auto add = [&](std::uint64_t at, std::string message) {
    defects.push_back(bad(at, std::move(message)));
  };
  const auto known = mog_architectures();
  if (std::none_of(known.begin(), known.end(), [&](const auto& row) { return row.id == p.architecture; })) {
    add(offsetof(MogPreamble, architecture),
        fmt::format("architecture is {}, must be 1 to {}", p.architecture, known.size()));
  }
  if (p.config_size != sizeof(MogConfig)) {
    add(offsetof(MogPreamble, config_size),
        fmt::format("config_size is {}, must be {}", p.config_size, sizeof(MogConfig)));
  }
  std::uint64_t end = kMogHeadBytes;
  if (p.tokenizer_offset == 0) {
    if (p.tokenizer_size != 0) {
      add(offsetof(MogPreamble, tokenizer_size),
          fmt::format("tokenizer_size is {}, must be 0 where tokenizer_offset is 0", p.tokenizer_size));
    }
  } else if (p.tokenizer_size == 0) {
    add(offsetof(MogPreamble, tokenizer_size),
        "tokenizer_size is 0, must be above where tokenizer_offset is not 0");
  } else {
    check_section("tokenizer", p.tokenizer_offset, p.tokenizer_size, offsetof(MogPreamble, tokenizer_offset),
                  file_size, end, defects);
  }
  if (p.record_size != sizeof(MogRecord)) {
    add(offsetof(MogPreamble, record_size),
        fmt::format("record_size is {}, must be {}", p.record_size, sizeof(MogRecord)));
  }
  const std::size_t n_slots = mog_slots(n_layers).size();
  if (p.n_records != n_slots) {
    add(offsetof(MogPreamble, n_records),
        fmt::format("n_records is {}, must be {} where n_layers is {}", p.n_records, n_slots, n_layers));
  }
  check_section("directory", p.directory_offset, n_slots * sizeof(MogRecord),
                offsetof(MogPreamble, directory_offset), file_size, end, defects);
  check_section("payload", p.payload_offset, p.payload_size, offsetof(MogPreamble, payload_offset), file_size,
                end, defects);
  if (defects.empty() && file_size > round_up(end)) {
    add(round_up(end),
        fmt::format("file is {} bytes, must end at {} (after the payload)", file_size, round_up(end)));
  }
  return defects;
}

// The records one after the other, each against what the configuration implies and where the one before
// ended.
class DirectoryReader {
 public:
  DirectoryReader(const ModelDesc& desc, const MogPreamble& preamble, std::vector<MlbArray>& tensors)
      : desc_(desc),
        end_(preamble.payload_offset),
        limit_(preamble.payload_offset + preamble.payload_size),
        tensors_(tensors) {}

  // @return the first defect of the record at `at`
  std::optional<Error> read(MogSlot slot, const MogRecord& record, std::uint64_t at) {
    const auto defect = [&](std::uint64_t field, std::string message, Status status = Status::format) {
      Error error = bad(at + field, std::move(message), status);
      error.tensor = mog_slot_name(slot);
      return error;
    };
    if (!has_mog_slot(desc_, slot)) {
      if (record == MogRecord()) return std::nullopt;
      return defect(0, "record is not zero, but the model has no tensor in this slot");
    }
    if (record == MogRecord()) return defect(0, "record is zero, but the model needs a tensor in this slot");
    const auto known = mog_encodings();
    const auto encoding =
        std::find_if(known.begin(), known.end(), [&](const auto& row) { return row.id == record.encoding; });
    if (encoding == known.end()) {
      return defect(offsetof(MogRecord, encoding),
                    fmt::format("encoding is {}, which is none", record.encoding));
    }
    const auto dims = mog_dims(desc_, slot.role);
    if (record.dims != dims) {
      return defect(offsetof(MogRecord, dims),
                    fmt::format("dims are {}, must be {}", fmt::join(record.dims, " "), fmt::join(dims, " ")),
                    Status::shape);
    }
    const Shape shape = role_shape(desc_, slot.role);
    if (auto wrong = mog_encoding_defect(*encoding, shape.rows, shape.cols)) {
      return defect(offsetof(MogRecord, dims), *std::move(wrong), Status::shape);
    }
    if (std::any_of(record.padding.begin(), record.padding.end(), [](auto word) { return word != 0; })) {
      return defect(offsetof(MogRecord, padding), "padding of the record is not zero");
    }
    MlbArray array{.role = slot.role,
                   .layer = slot.layer,
                   .encoding = encoding->encoding,
                   .scale_type = encoding->scale_type,
                   .rows = shape.rows,
                   .cols = shape.cols,
                   .offset = record.data_offset,
                   .n_bytes = record.n_data_bytes,
                   .scale_offset = record.scale_offset,
                   .n_scale_bytes = record.n_scale_bytes};
    const TensorView view{
        .encoding = array.encoding, .scale_type = array.scale_type, .rows = shape.rows, .cols = shape.cols};
    // Dimensions are at most 2^24 x 2^16, so nothing overflows here.
    const std::uint64_t data_bytes = shape.rows * view.row_bytes();
    const std::uint64_t scale_bytes = shape.rows * view.row_scale_bytes();
    if (record.n_data_bytes != data_bytes) {
      return defect(offsetof(MogRecord, n_data_bytes),
                    fmt::format("data takes {} bytes, must take {} as {}", record.n_data_bytes, data_bytes,
                                encoding->name));
    }
    if (record.n_scale_bytes != scale_bytes) {
      return defect(offsetof(MogRecord, n_scale_bytes),
                    fmt::format("scales take {} bytes, must take {} as {}", record.n_scale_bytes, scale_bytes,
                                encoding->name));
    }
    if (scale_bytes == 0 && record.scale_offset != 0) {
      return defect(offsetof(MogRecord, scale_offset), fmt::format("offset of scales is {}, must be 0 for {}",
                                                                   record.scale_offset, encoding->name));
    }
    if (auto wrong = place("data", record.data_offset, data_bytes)) {
      return defect(offsetof(MogRecord, data_offset), *std::move(wrong));
    }
    if (scale_bytes != 0) {
      if (auto wrong = place("scales", record.scale_offset, scale_bytes)) {
        return defect(offsetof(MogRecord, scale_offset), *std::move(wrong));
      }
    }
    tensors_.push_back(array);
    return std::nullopt;
  }

  std::uint64_t end() const { return end_; }

 private:
  // A buffer lies at the first multiple of 64 after the one before.
  std::optional<std::string> place(std::string_view what, std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t wanted = round_up(end_);
    if (offset % kMogAlignment != 0)
      return fmt::format("offset of {} is {}, must be a multiple of {}", what, offset, kMogAlignment);
    if (offset < wanted)
      return fmt::format("offset of {} is {}, which overlaps what ends at {}, or is out of order", what,
                         offset, end_);
    const auto last = (Checked(offset) + size).get();
    if (!last || *last > limit_)
      return fmt::format("offset of {} is {}, {} bytes from there end after the payload, at {}", what, offset,
                         size, limit_);
    if (offset > wanted)
      return fmt::format("offset of {} is {}, must be {} (no more than padding before it)", what, offset,
                         wanted);
    end_ = *last;
    return std::nullopt;
  }

  const ModelDesc& desc_;
  std::uint64_t end_;
  std::uint64_t limit_;
  std::vector<MlbArray>& tensors_;
};

}  // namespace

MogDirectory read_mog_directory(Bytes bytes, bool all_of_tokenizer) {
  MogDirectory result;
  std::vector<Error>& defects = result.defects;
  MogFile& file = result.file;
  if (bytes.empty()) {
    defects.push_back(bad(0, "file is empty"));
    return result;
  }
  std::memcpy(&file.preamble, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof file.preamble));
  order_mog(file.preamble);
  if (bytes.size() >= 4 && file.preamble.magic != MogPreamble().magic) {
    defects.push_back(bad(0, "magic is not MOG and a zero byte"));
    return result;
  }
  if (bytes.size() >= 8 && file.preamble.version != kMogVersion) {
    defects.push_back(bad(4, version_message(file.preamble.version), Status::unsupported));
    return result;
  }
  if (bytes.size() < kMogHeadBytes) {
    defects.push_back(too_short(bytes.size(), "the fixed part (preamble and configuration)", kMogHeadBytes));
    return result;
  }
  std::memcpy(&file.config, bytes.data() + kMogConfigAt, sizeof file.config);
  order_mog(file.config);
  result.has_config = true;
  std::vector<Error> config_defects = mog_config_defects(file.config);
  const std::uint32_t n_layers = std::min(file.config.n_layers, kMogMaxLayers);
  if (config_defects.empty() || file.config.n_layers <= kMogMaxLayers)
    defects = preamble_defects(file.preamble, n_layers, bytes.size());
  for (Error& error : config_defects) defects.push_back(std::move(error));
  if (!defects.empty()) return result;

  file.desc = mog_desc(file.config);
  if (file.preamble.tokenizer_offset != 0) {
    DefectList found;
    auto tokenizer =
        MogTokens::read(bytes.subspan(file.preamble.tokenizer_offset, file.preamble.tokenizer_size),
                        all_of_tokenizer ? &found : nullptr);
    if (!tokenizer) found.add(std::move(tokenizer.error()));
    for (Error& error : found.take()) {
      error.message = "tokenizer: " + error.message;
      if (error.offset) *error.offset += file.preamble.tokenizer_offset;
      defects.push_back(std::move(error));
    }
  }
  DirectoryReader reader(file.desc, file.preamble, file.tensors);
  std::uint64_t at = file.preamble.directory_offset;
  for (const MogSlot slot : mog_slots(n_layers)) {
    MogRecord record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    order_mog(record);
    if (auto error = reader.read(slot, record, at)) defects.push_back(*std::move(error));
    at += sizeof(MogRecord);
  }
  const std::uint64_t payload_end = file.preamble.payload_offset + file.preamble.payload_size;
  if (defects.empty() && payload_end > round_up(reader.end())) {
    defects.push_back(
        bad(offsetof(MogPreamble, payload_size),
            fmt::format("payload_size is {}, but the last tensor ends after {}", file.preamble.payload_size,
                        reader.end() - file.preamble.payload_offset)));
  }
  return result;
}

Result<MogFile> read_mog(Bytes bytes) {
  MogDirectory directory = read_mog_directory(bytes);
  if (!directory.defects.empty()) return std::move(directory.defects.front());
  return std::move(directory.file);
}

std::optional<std::uint64_t> mog_file_bytes(Bytes start) {
  MogPreamble preamble;
  if (start.size() < sizeof preamble) return {};
  std::memcpy(&preamble, start.data(), sizeof preamble);
  order_mog(preamble);
  return (Checked(preamble.payload_offset) + preamble.payload_size).get();
}

bool is_mog(Bytes bytes) { return as_text(bytes).starts_with(std::string_view("MOG\0", 4)); }

bool mog_holds_tokenizer(const std::string& path) {
  MogPreamble preamble;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&preamble), sizeof preamble);
  order_mog(preamble);
  return file && preamble.magic == MogPreamble().magic && preamble.version == kMogVersion &&
         preamble.tokenizer_offset != 0;
}

Result<Bytes> mog_tokenizer_section(Bytes bytes) {
  ML_TRY(const MogFile file, read_mog(bytes));
  return bytes.subspan(file.preamble.tokenizer_offset, file.preamble.tokenizer_size);
}

Result<Model> open_mog(std::shared_ptr<const InputBytes> input, const OpenOptions& options) {
  const Bytes bytes = input->data();
  ML_TRY(const MogFile file, read_mog(bytes));
  if (!options.trust) {
    if (auto defect = find_mog_quant_defect(bytes, file)) return *std::move(defect);
  }
  std::vector<Tensor> tensors;
  tensors.reserve(file.tensors.size());
  for (const MlbArray& array : file.tensors) {
    tensors.push_back({.role = array.role,
                       .layer = array.layer,
                       .name = mog_slot_name({array.role, array.layer}),
                       .view = array_view(bytes, array)});
  }
  std::vector<Model::Storage> storage;
  storage.push_back(std::move(input));
  return Model::assemble(file.desc, std::move(tensors), std::move(storage));
}

}  // namespace ml
