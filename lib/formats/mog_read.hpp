#pragma once

#include <ml/mog.hpp>

namespace ml {

/// A .mog as far as it can be read: tensors whose records are sound.
struct MogDirectory {
  MogFile file;
  bool has_config = false;  ///< the file is long enough for preamble and configuration
  std::vector<Error> defects;
};
/// @param all_of_tokenizer  every defect of the tokenizer section, not only the first one
MogDirectory read_mog_directory(std::span<const std::byte> bytes, bool all_of_tokenizer = false);

/// @return the first 8-bit quant of -128 in the file
std::optional<Error> find_mog_quant_defect(std::span<const std::byte> bytes, const MogFile& file);

/// @return the bytes that the whole file takes, by its preamble
std::optional<std::uint64_t> mog_file_bytes(std::span<const std::byte> start);

}  // namespace ml
