#include "common/for_each_index.hpp"

#include <ml/start_threads.hpp>
#include <ml/target.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace cli {

void for_each_index(std::size_t n, unsigned n_threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  const std::function<void(unsigned)> work = [&](unsigned) {
    try {
      for (std::size_t i = next++; i < n && !failed; i = next++) job(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const std::size_t wanted = std::min<std::size_t>(n_threads == 0 ? ml::available_threads() : n_threads, n);
  std::vector<std::thread> threads = ml::start_threads(static_cast<unsigned>(wanted), work);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cli
