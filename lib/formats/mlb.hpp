#pragma once

#include <ml/model.hpp>

#include "util/mapped_file.hpp"

#include <optional>

namespace ml {

/// Reads a .mlb: validates all of it (mlb(5), VALIDATION) and points the model's tensors into `input`.
Result<Model> open_mlb(std::shared_ptr<const InputBytes> input, const OpenOptions& options);

/// @param start  at least the header of a .mlb and its layer flags
/// @return       the bytes that the whole file takes; nothing where the header is not sound
std::optional<std::uint64_t> mlb_file_bytes(std::span<const std::byte> start);

}  // namespace ml
