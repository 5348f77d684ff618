#pragma once

#include <ml/model.hpp>

#include "util/mapped_file.hpp"

namespace ml {

/// Reads a .mlb: validates all of it (mlb(5), VALIDATION) and points the model's tensors into `input`.
Result<Model> open_mlb(std::shared_ptr<const InputBytes> input, const OpenOptions& options);

}  // namespace ml
