#pragma once

#include <ml/imatrix.hpp>

#include "util/mapped_file.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace ml {

/// A file where it lies, checked: an MLI1 file, which a merge reads without a copy, or what was read of
/// another form.
struct ImatrixFile {
  Imatrix head = {};                             ///< without sums where they lie in `bytes`
  std::shared_ptr<const InputBytes> bytes = {};  ///< of an MLI1 file, else null

  double sum(std::uint64_t index) const;
};

/// @error io, format, shape  with the path
Result<ImatrixFile> open_imatrix_file(const std::string& path);

/// The shape of the .mlb of a model whose FFN has so many channels, which may be no multiple of 32.
/// @error shape  a dimension that no .mlb has
Result<ImatrixShape> padded_imatrix_shape(std::uint64_t n_layers, std::uint64_t dim, std::uint64_t hidden_dim,
                                          std::uint64_t q_dim);
/// @return the bytes that the whole file takes, by its header; nothing where that is not sound
std::optional<std::uint64_t> imatrix_file_bytes(std::span<const std::byte> start);

/// First byte of a sum in the file.
std::uint64_t imatrix_sum_offset(std::uint64_t index);

/// The field of two shapes that differs: "n_layers is 6, but 5 in WHERE".
/// @error shape
Result<void> check_same_shape(const ImatrixShape& shape, const ImatrixShape& other, const std::string& where);

}  // namespace ml
