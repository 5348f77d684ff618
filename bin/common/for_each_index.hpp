#pragma once

#include <cstddef>
#include <functional>

namespace cli {

/// Calls job(i) once for each i below n, on several threads. Returns when all are done. Where jobs
/// throw, some are left out, and it throws the first exception.
///
/// @param n_threads  0: all that this process may run on
void for_each_index(std::size_t n, unsigned n_threads, const std::function<void(std::size_t)>& job);

}  // namespace cli
