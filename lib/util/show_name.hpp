#pragma once

#include <string>
#include <string_view>

namespace ml {

/// A name from a file as messages show it: escaped as in JSON, cut off where it grows long.
std::string show_name(std::string_view name);

}  // namespace ml
