#include "common/for_each_index.hpp"

#include <ml/target.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace cli {

void for_each_index(std::size_t n, unsigned n_threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) job(i);
  };
  const std::size_t wanted = std::min<std::size_t>(n_threads == 0 ? ml::available_threads() : n_threads, n);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cli
