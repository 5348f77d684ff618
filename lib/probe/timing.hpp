#pragma once

#include <ml/start_threads.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace ml {

/// Median seconds of n_runs runs of job(thread) on n_threads threads at once. The jobs of threads that cannot
/// be started are the caller's, after its own.
inline double median_seconds(unsigned n_threads, int n_runs, const std::function<void(unsigned)>& job) {
  std::vector<double> times;
  for (int run = 0; run < n_runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads = start_threads(n_threads, job);
    job(0);
    for (auto t = static_cast<unsigned>(threads.size()) + 1; t < n_threads; ++t) job(t);
    for (std::thread& thread : threads) thread.join();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace ml
