#pragma once

#include <cstdint>

namespace ml {

/// Bits that nobody can foretell; where the system has none yet, some that differ between processes.
std::uint64_t random_bits();

}  // namespace ml
