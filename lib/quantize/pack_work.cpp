#include "quantize/pack_work.hpp"

#include <ml/hash.hpp>
#include <ml/output.hpp>

#include "formats/safetensors.hpp"
#include "formats/shards.hpp"
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

std::string PackWork::path_of(Encoding encoding, const MatrixSource& source) const {
  Hasher hasher;
  const std::string what = fmt::format("{} {} {} {} {}", kVersion, encoding_info(encoding).name,
                                       source.slices, source.rows, source.cols);
  hasher.update(std::as_bytes(std::span(what)));
  hasher.update(source.bf16);
  hasher.update(std::as_bytes(source.importance));
  return path_in_folder(folder_, hasher.hex() + ".safetensors");
}

std::optional<EncodedMatrix> PackWork::load(Encoding encoding, const MatrixSource& source) const {
  if (folder_.empty()) return {};
  const auto input = InputBytes::open(path_of(encoding, source));
  if (!input) return {};
  const auto file = read_safetensors((*input)->data());
  if (!file) return {};
  EncodedMatrix matrix;
  for (const SafetensorsTensor& tensor : file->tensors) {
    for (const Field& field : kFields) {
      if (tensor.name == field.name) (matrix.*field.bytes).assign(tensor.data.begin(), tensor.data.end());
    }
  }
  const EncodingInfo& info = encoding_info(encoding);
  const std::uint64_t n_blocks = source.slices * source.rows * source.cols / info.block_weights;
  const bool fits = matrix.data.size() == n_blocks * info.block_bytes &&
                    matrix.scales.size() == n_blocks * info.scale_bytes &&
                    matrix.seeds.size() == n_blocks * info.seed_bytes &&
                    matrix.biases.size() == 4 * source.slices;
  if (!fits) return {};
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
  ML_TRY(const std::vector<std::byte> bytes, write_safetensors(entries));
  ML_TRY(OutputFile file, OutputFile::create(path_of(encoding, source), {.force = true}));
  ML_CHECK(file.write(bytes));
  return file.commit();
}

}  // namespace ml
