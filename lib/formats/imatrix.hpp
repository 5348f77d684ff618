#pragma once

#include <ml/imatrix.hpp>

#include "util/mapped_file.hpp"

#include <functional>
#include <memory>

namespace ml {

/// An MLI1 file where it lies, checked: what a merge reads without a copy.
struct ImatrixFile {
  ImatrixShape shape = {};
  std::uint64_t tokens = 0;
  std::uint64_t classifier_tokens = 0;
  std::shared_ptr<const InputBytes> bytes = {};

  double sum(std::uint64_t index) const;
};

/// @error io, format, shape  with the path
Result<ImatrixFile> open_imatrix_file(const std::string& path);

/// First byte of a sum in the file.
std::uint64_t imatrix_sum_offset(std::uint64_t index);

/// The field of two shapes that differs: "n_layers is 6, but 5 in WHERE".
/// @error shape
Result<void> check_same_shape(const ImatrixShape& shape, const ImatrixShape& other, const std::string& where);

}  // namespace ml
