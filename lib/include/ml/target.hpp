#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// A set of kernels for one instruction set. `best` is the fastest that this machine runs.
enum class Target : std::uint8_t { best, scalar, avx2, avxvnni, avx512, neon, dotprod, i8mm };

/// @return the targets that this build has, slowest first: scalar and those of its architecture
ML_API std::vector<Target> built_targets();

/// @return the targets that this build has and this machine runs, slowest first
ML_API std::vector<Target> available_targets();

/// @return "scalar", "avx2", "avxvnni", "avx512", "neon", "dotprod", "i8mm"; the name of the fastest for
///         `best` and for a target of another architecture
ML_API std::string_view target_name(Target target);

/// Finds a target by name, in any letter case. An empty name takes the environment's ML_TARGET, and the
/// fastest where that is unset.
///
/// @error arg          no such target; the message lists the known ones
/// @error unsupported  this machine cannot run it
ML_API Result<Target> resolve_target(std::string_view name);

/// @return threads this process may run on (its affinity mask, at least 1)
ML_API unsigned available_threads();

}  // namespace ml
