#pragma once

#include <ml/export.hpp>

namespace ml {

/// @return the library's version, "0.1.0"
ML_API const char* version();

}  // namespace ml
