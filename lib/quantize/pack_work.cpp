#include "quantize/pack_work.hpp"

#include <ml/hash.hpp>
#include <ml/output.hpp>

#include "formats/safetensors.hpp"
#include "formats/shards.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace ml {

namespace {

// A change of what is found for the same weights changes it.
constexpr std::string_view kVersion = "1";

struct Field {
  const char* name;
  std::vector<std::byte> EncodedMatrix::*bytes;
};
constexpr Field kFields[] = {{"data", &EncodedMatrix::data},
                             {"scales", &EncodedMatrix::scales},
                             {"biases", &EncodedMatrix::biases},
                             {"seeds", &EncodedMatrix::seeds}};
constexpr std::string_view kCheck = "xxh3_128";

// What a matrix is kept under.
std::string key_of(Encoding encoding, const MatrixSource& source) {
  Hasher hasher;
  const std::string what = fmt::format("{} {} {} {} {}", kVersion, encoding_info(encoding).name,
                                       source.slices, source.rows, source.cols);
  hasher.update(as_bytes(std::string_view(what)));
  hasher.update(source.bf16);
  hasher.update(LittleEndian(source.importance).bytes());
  return hasher.hex();
}

std::string check_of(const std::string& key, const EncodedMatrix& matrix) {
  Hasher hasher;
  hasher.update(as_bytes(std::string_view(key)));
  for (const Field& field : kFields) {
    const std::vector<std::byte>& bytes = matrix.*field.bytes;
    hasher.update(as_bytes(std::string_view(fmt::format("{} {} ", field.name, bytes.size()))));
    hasher.update(bytes);
  }
  return hasher.hex();
}

}  // namespace

Result<PackWork> PackWork::open(const std::string& folder) {
  if (folder.empty()) return PackWork(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Error{
        .status = Status::io, .message = "cannot make the folder", .path = folder, .os_errno = error.value()};
  return PackWork(folder);
}

std::string PackWork::path_of(const std::string& key) const {
  return path_in_folder(folder_, key + ".safetensors");
}

std::optional<EncodedMatrix> PackWork::load(Encoding encoding, const MatrixSource& source) const {
  if (folder_.empty()) return {};
  const std::string key = key_of(encoding, source);
  const auto input = InputBytes::open_regular(path_of(key));
  if (!input) return {};
  const auto file = read_safetensors((*input)->data());
  if (!file) return {};
  EncodedMatrix matrix;
  std::string_view check;
  for (const SafetensorsTensor& tensor : file->tensors) {
    for (const Field& field : kFields) {
      if (tensor.name == field.name) (matrix.*field.bytes).assign(tensor.data.begin(), tensor.data.end());
    }
    if (tensor.name == kCheck) check = as_text(tensor.data);
  }
  const EncodingInfo& info = encoding_info(encoding);
  const std::uint64_t n_blocks = source.slices * source.rows * source.cols / info.block_weights;
  const bool fits = matrix.data.size() == n_blocks * info.block_bytes &&
                    matrix.scales.size() == n_blocks * info.scale_bytes &&
                    matrix.seeds.size() == n_blocks * info.seed_bytes &&
                    matrix.biases.size() == 4 * source.slices;
  if (!fits || check != check_of(key, matrix)) return {};
  return matrix;
}

Result<void> PackWork::keep(Encoding encoding, const MatrixSource& source,
                            const EncodedMatrix& matrix) const {
  if (folder_.empty()) return {};
  std::vector<SafetensorsSource> entries;
  for (const Field& field : kFields) {
    const std::vector<std::byte>& bytes = matrix.*field.bytes;
    entries.push_back({.name = field.name, .dtype = "U8", .shape = {bytes.size()}, .data = bytes});
  }
  const std::string key = key_of(encoding, source);
  const std::string check = check_of(key, matrix);
  entries.push_back({.name = std::string(kCheck),
                     .dtype = "U8",
                     .shape = {check.size()},
                     .data = as_bytes(std::string_view(check))});
  ML_TRY(const std::vector<std::byte> bytes, write_safetensors(entries));
  const std::string path = path_of(key);
  std::error_code ignored;
  if (const auto there = std::filesystem::status(path, ignored);
      std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return Error{
        .status = Status::io, .message = "lies where work is kept and is no regular file", .path = path};
  }
  ML_TRY(OutputFile file, OutputFile::create(path, {.force = true}));
  ML_CHECK(file.write(bytes));
  return file.commit();
}

}  // namespace ml
