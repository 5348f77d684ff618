#include "util/thread_pool.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ml {

namespace {

// Long enough for the gap between two layers' jobs, short enough not to hurt a busy machine.
constexpr int kSpins = 2000;

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waits until `value` differs from `old`: a short spin, then the kernel's futex.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_cpu();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(unsigned n_threads) {
  for (unsigned i = 1; i < n_threads; ++i) {
    try {
      workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      break;  // fewer threads than asked for: slower, not wrong
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::uint64_t n, std::uint64_t grain,
                     const std::function<void(std::uint64_t, std::uint64_t)>& job) {
  if (workers_.empty() || n <= grain) {
    for (std::uint64_t begin = 0; begin < n; begin += grain) job(begin, std::min(n, begin + grain));
    return;
  }
  job_ = &job;
  n_ = n;
  grain_ = grain;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  take_pieces();
  for (;;) {
    const std::uint32_t left = running_.load(std::memory_order_acquire);
    if (left == 0) break;
    wait_while(running_, left);
  }
}

void ThreadPool::take_pieces() {
  for (;;) {
    const std::uint64_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= n_) return;
    (*job_)(begin, std::min(n_, begin + grain_));
  }
}

void ThreadPool::work() {
  std::uint32_t seen = 0;
  for (;;) {
    wait_while(generation_, seen);
    const std::uint32_t now = generation_.load(std::memory_order_acquire);
    if (now == seen) continue;
    seen = now;
    if (stop_.load(std::memory_order_acquire)) return;
    take_pieces();
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

}  // namespace ml
