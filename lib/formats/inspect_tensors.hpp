#pragma once

#include <ml/inspect.hpp>

#include "formats/safetensors.hpp"

namespace ml {

/// Adds the tensors of one safetensors file to a report.
///
/// @param file_index  which of report.files it is
void add_tensors(const SafetensorsFile& file, std::uint32_t file_index, FileReport& report);

}  // namespace ml
