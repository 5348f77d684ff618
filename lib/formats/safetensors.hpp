#pragma once

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include "util/mapped_file.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// safetensors: a u64 header length N, N bytes of JSON (padded with spaces), then the tensors' bytes.
//
//   {"__metadata__": {"key": "text", ...},
//    "NAME": {"dtype": "BF16", "shape": [320, 64], "data_offsets": [begin, end]}, ...}
//
// Offsets count from the end of the header. The tensors cover the rest of the file: no overlap, no hole,
// nothing after the last one. Elements are little-endian, rows first. Data need not be aligned.

namespace ml {

struct SafetensorsDtype {
  std::string_view name;
  std::uint32_t bits;                ///< of one element
  std::optional<Encoding> encoding;  ///< set where the elements can be weights as they are
};

/// @return every dtype that the format defines
std::span<const SafetensorsDtype> safetensors_dtypes();
/// @return the dtype of that name, or null
const SafetensorsDtype* find_safetensors_dtype(std::string_view name);

struct SafetensorsTensor {
  std::string name;
  const SafetensorsDtype* dtype = nullptr;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< of the data, from the start of the file
  std::span<const std::byte> data;
};

struct SafetensorsFile {
  std::uint64_t header_bytes = 0;  ///< N
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<SafetensorsTensor> tensors;  ///< in the order of their data
};

/// The longest header that readers of the format accept.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// True for bytes that start like a safetensors file: a header length that fits, then "{".
bool looks_like_safetensors(std::span<const std::byte> bytes);

/// Reads the header and checks all of it against the file's size. Views point into `bytes`.
///
/// @error format  a broken rule; names the tensor, or the offset in the header
/// @error limit   the header is over kMaxSafetensorsHeader
Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes);

/// The same, but goes on after a defect: all that are found, none for a sound file.
///
/// @param file  null, or takes what could be read: the tensors without a defect, of which none overlap
std::vector<Error> check_safetensors(std::span<const std::byte> bytes, SafetensorsFile* file = nullptr);

/// One tensor to write.
struct SafetensorsSource {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;
};

/// Writes a safetensors file into memory: tensors in the order given, the header padded so that data starts
/// at a multiple of 8.
///
/// @error arg  an unknown dtype, a name that is there twice or is reserved, data that does not fill its shape
Result<std::vector<std::byte>> write_safetensors(
    std::span<const SafetensorsSource> tensors,
    std::span<const std::pair<std::string, std::string>> metadata = {});

}  // namespace ml
