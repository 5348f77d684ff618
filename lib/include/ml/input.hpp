#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <string>

namespace ml {

/// Reads a whole file, pipe or device into memory; "-" is standard input.
///
/// @return      its bytes, whatever they are
/// @error io    cannot open or read; os_errno says why
/// @error nomem
ML_API Result<std::string> read_text(const std::string& path);

}  // namespace ml
