#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace ml {

/// Median seconds of n_runs runs of job(thread) on n_threads threads at once.
inline double median_seconds(unsigned n_threads, int n_runs, const std::function<void(unsigned)>& job) {
  std::vector<double> times;
  for (int run = 0; run < n_runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < n_threads; ++t) threads.emplace_back(job, t);
    job(0);
    for (std::thread& thread : threads) thread.join();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace ml
