#pragma once

#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace ml {

/// Starts threads that run job(1), job(2) .. job(n_threads - 1); job(0) is the caller's. Where the system
/// starts no more of them there are fewer, the first ones: whoever divides work looks at how many came. The
/// caller joins them.
///
/// @param job  must outlive the threads; what it throws ends the process
inline std::vector<std::thread> start_threads(unsigned n_threads, const std::function<void(unsigned)>& job) {
  std::vector<std::thread> threads;
  threads.reserve(n_threads);
  for (unsigned i = 1; i < n_threads; ++i) {
    try {
      threads.emplace_back([&job, i] { job(i); });
    } catch (const std::system_error&) {
      break;  // slower, not wrong
    } catch (const std::bad_alloc&) {
      break;  // those that run must be joined
    }
  }
  return threads;
}

}  // namespace ml
