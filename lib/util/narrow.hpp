#pragma once

#include <cmath>
#include <limits>
#include <optional>

namespace ml {

/// A number as float32; nothing where it is none, beyond float32, or so small that 0 would be left of it.
inline std::optional<float> narrow_to_f32(double number) {
  if (!(std::fabs(number) <= static_cast<double>(std::numeric_limits<float>::max()))) return std::nullopt;
  const auto narrow = static_cast<float>(number);
  return (narrow == 0) == (number == 0) ? std::optional(narrow) : std::nullopt;
}

}  // namespace ml
