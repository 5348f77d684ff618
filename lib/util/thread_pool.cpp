#include "util/thread_pool.hpp"

#include <ml/start_threads.hpp>
#include <ml/target.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ml {

namespace {

// Long enough for the gap between two layers' jobs, short enough not to hurt a busy machine.
constexpr int kSpins = 2000;

// A wait that is this much longer than the caller's own pieces took means that another thread does not run.
// The kernel lets others run for some milliseconds.
constexpr std::chrono::microseconds kInterrupted{300};
constexpr std::chrono::milliseconds kLeastRest{4}, kMostRest{256};

constexpr unsigned kFewThreads = 16;
constexpr std::uint64_t kMaxPieces = 0xffffffff;

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // waits about as long; YIELD does nothing on most cores
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

ThreadPool::ThreadPool(unsigned n_threads)
    : process_(::getpid()), worker_([this](unsigned thread) { work(thread); }), rest_(kLeastRest) {
  // Many more threads than cores only wait for each other.
  n_threads = std::min(n_threads, std::max(kFewThreads, 2 * available_threads()));
  workers_ = start_threads(n_threads, worker_);
}

ThreadPool::~ThreadPool() {
  if (::getpid() != process_) {
    // They can be neither joined nor detached: their descriptors may be those of other threads by now.
    static_cast<void>(new std::vector<std::thread>(std::move(workers_)));
    return;
  }
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::uint64_t n, std::uint64_t grain,
                     const std::function<void(std::uint64_t, std::uint64_t)>& job) {
  run_threads(n, grain, [&](unsigned, std::uint64_t begin, std::uint64_t end) { job(begin, end); });
}

void ThreadPool::run_threads(std::uint64_t n, std::uint64_t grain,
                             const std::function<void(unsigned, std::uint64_t, std::uint64_t)>& job) {
  std::uint64_t first = 0;
  const auto alone = [&] { return workers_.empty() || n - first <= grain || resting(); };
  while (first < n && alone()) {
    const std::uint64_t end = first + std::min(grain, n - first);
    job(0, first, end);
    first = end;
  }
  if (first == n) return;
  grain = std::max(grain, (n - first) / kMaxPieces + 1);
  job_ = &job;
  first_ = first;
  n_ = n;
  grain_ = grain;
  n_pieces_ = static_cast<std::uint32_t>((n - first + grain - 1) / grain);
  done_.store(0, std::memory_order_relaxed);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  open_.store(std::uint64_t(generation) << 32 | n_pieces_, std::memory_order_release);
  generation_.store(generation, std::memory_order_release);
  generation_.notify_all();
  const Clock::time_point begin = Clock::now();
  take_pieces(0);
  await_others(begin);
  if (failed_.load(std::memory_order_relaxed)) throw_failure();
}

void ThreadPool::throw_failure() {
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool ThreadPool::resting() { return rest_until_ != Clock::time_point{} && Clock::now() < rest_until_; }

void ThreadPool::await_others(Clock::time_point begin) {
  std::uint32_t done = done_.load(std::memory_order_acquire);
  if (done == n_pieces_) return;
  const Clock::time_point waiting = Clock::now();
  for (; done != n_pieces_; done = done_.load(std::memory_order_acquire)) wait_while(done_, done);
  const Clock::time_point end = Clock::now();
  if (end - waiting > kInterrupted + (waiting - begin)) {
    rest_until_ = end + rest_;
    rest_ = std::min<Clock::duration>(rest_ * 2, kMostRest);
  } else if (rest_ > kLeastRest && end > rest_until_ + rest_) {
    rest_ = kLeastRest;
  }
}

// Who takes a piece holds the job open until it is done, so the job's fields are read only after the
// exchange. The job's number in the ticket makes an exchange fail that was prepared for an earlier job.
void ThreadPool::take_pieces(unsigned thread) {
  for (std::uint64_t ticket = open_.load(std::memory_order_acquire); (ticket & kMaxPieces) != 0;) {
    if (!open_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                     std::memory_order_acquire))
      continue;
    const std::uint32_t n_pieces = n_pieces_;
    const std::uint64_t begin = first_ + (n_pieces - (ticket & kMaxPieces)) * grain_;
    do_piece(thread, begin, std::min(n_, begin + grain_));
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_pieces) done_.notify_one();
    ticket = open_.load(std::memory_order_acquire);
  }
}

// The caller sees a failure after the piece counts as done.
void ThreadPool::do_piece(unsigned thread, std::uint64_t begin, std::uint64_t end) noexcept {
  try {
    (*job_)(thread, begin, end);
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
}

void ThreadPool::work(unsigned thread) {
  std::uint32_t seen = 0;
  for (;;) {
    wait_while(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    take_pieces(thread);
  }
}

}  // namespace ml
