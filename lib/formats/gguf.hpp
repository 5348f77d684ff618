#pragma once

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// GGUF, versions 2 and 3, little-endian (gguf(5)):
//
//     "GGUF"  u32 version  u64 n_tensors  u64 n_keys
//     n_keys times:     string key, u32 type, value
//     n_tensors times:  string name, u32 n_dims, u64 dims[n_dims], u32 type, u64 offset
//     zeros up to a multiple of general.alignment (32 where it is not said), then the tensors' bytes
//
// A string is u64 length and bytes. An array is u32 element type, u64 count and its elements. Offsets of
// tensors count from where the data begins; the first dimension is the one that runs along a row.

namespace ml {

/// Types of metadata values, by their numbers in the file.
enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

/// @return "u32", "string", ...; nothing for a number that is no type
std::optional<std::string_view> gguf_type_name(GgufType type);

/// One metadata value where it lies; all of it is known to be inside the file.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;        ///< of an array
  std::uint64_t n = 0;                    ///< elements of an array
  std::uint64_t offset = 0;               ///< of `bytes` in the file
  std::span<const std::byte> bytes = {};  ///< a number, a string's text, an array's elements

  /// A string's text; nothing for other types.
  std::optional<std::string_view> text() const;
  /// A whole number of any width that is not negative.
  std::optional<std::uint64_t> count() const;
  /// A number of any type.
  std::optional<double> number() const;
  std::optional<bool> flag() const;
  /// The strings of an array of strings, the first `most` of them; nothing for other types.
  std::optional<std::vector<std::string_view>> texts(std::uint64_t most = UINT64_MAX) const;
  /// An array of numbers or booleans.
  bool is_list() const;
  /// Element i of n of such an array, with its offset.
  GgufValue at(std::uint64_t i) const;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

/// How a tensor's bytes are laid out: blocks of block_weights elements in block_bytes bytes.
struct GgufTensorType {
  std::uint32_t id;
  std::string_view name;  ///< "Q4_K"
  std::uint32_t block_weights;
  std::uint32_t block_bytes;
  std::optional<Encoding> encoding = {};  ///< ours with the same values, where there is one
};

/// @return the type of that number or name, or null
const GgufTensorType* find_gguf_tensor_type(std::uint32_t id);
const GgufTensorType* find_gguf_tensor_type(std::string_view name);

inline constexpr std::uint32_t kGgufMaxDims = 4;

struct GgufTensor {
  std::string_view name;
  const GgufTensorType* type = nullptr;
  std::vector<std::uint64_t> dims;  ///< as in the file: the first one runs along a row
  std::uint64_t offset = 0;         ///< of the data, from the start of the file
  std::span<const std::byte> data;

  std::uint64_t cols() const { return dims.front(); }
  std::uint64_t rows() const;
};

struct GgufFile {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::uint64_t data_offset = 0;
  std::vector<GgufEntry> entries;   ///< in file order
  std::vector<GgufTensor> tensors;  ///< in file order

  /// @return null where there is no such key
  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;
};

/// True for bytes that begin as a GGUF file does.
bool is_gguf(std::span<const std::byte> bytes);

/// Reads metadata and tensor list and checks all of it against the file's size. Views point into `bytes`.
///
/// @error format       a broken rule; names key or tensor, and the offset
/// @error limit        a name or nesting beyond what the format allows
/// @error unsupported  another version, big-endian
/// @cost               memory of a small multiple of the metadata's bytes
Result<GgufFile> read_gguf(std::span<const std::byte> bytes);

/// The same, but goes on after a defect as far as that is possible: what could be read, and all defects. No
/// tensors overlap.
struct GgufReading {
  GgufFile file;
  std::vector<Error> defects;
};
GgufReading check_gguf(std::span<const std::byte> bytes);

}  // namespace ml
