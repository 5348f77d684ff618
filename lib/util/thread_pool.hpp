#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace ml {

/// Threads that share the pieces of one job at a time. Which thread does which piece is not determined;
/// results must not depend on it. A thread that the machine does not let run delays nothing: the others take
/// its pieces. One that is interrupted in the middle of a piece does; then the caller works alone for some
/// milliseconds, more each time, so that many threads lose less beside busy programs.
class ThreadPool {
 public:
  /// @param n_threads  in all, the caller of run() included; at least 1
  explicit ThreadPool(unsigned n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned n_threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Calls job(begin, end) for consecutive ranges that cover [0, n) once, each `grain` long but for the last;
  /// returns when all are done. Jobs must not call run(). Where they throw, it throws the first exception
  /// once no thread works on the job any more; other pieces may or may not have been done.
  void run(std::uint64_t n, std::uint64_t grain,
           const std::function<void(std::uint64_t, std::uint64_t)>& job);
  /// The same with the number of the thread, 0 .. n_threads() - 1, so that threads can own memory:
  /// job(thread, begin, end).
  void run_threads(std::uint64_t n, std::uint64_t grain,
                   const std::function<void(unsigned, std::uint64_t, std::uint64_t)>& job);

 private:
  using Clock = std::chrono::steady_clock;

  void work(unsigned thread);
  bool resting();
  void await_others(Clock::time_point begin);
  void take_pieces(unsigned thread);
  void do_piece(unsigned thread, std::uint64_t begin, std::uint64_t end) noexcept;
  void throw_failure();

  const pid_t process_;  // a child that was forked has none of the threads
  const std::function<void(unsigned)> worker_;
  std::vector<std::thread> workers_;
  Clock::time_point rest_until_{};  // the caller works alone until then
  Clock::duration rest_;            // how long it will do so after the next interruption
  // The job; changed only while no piece is open, read only by who holds one.
  const std::function<void(unsigned, std::uint64_t, std::uint64_t)>* job_ = nullptr;
  std::uint64_t first_ = 0;  // what is before it, the caller did alone
  std::uint64_t n_ = 0;
  std::uint64_t grain_ = 1;
  std::uint32_t n_pieces_ = 0;
  std::exception_ptr failure_;  // the first one; written by who set failed_, read once all pieces are done

  std::atomic<std::uint64_t> open_{0};        // number of the job << 32 | pieces that nobody has taken
  std::atomic<std::uint32_t> done_{0};        // pieces finished
  std::atomic<std::uint32_t> generation_{0};  // number of the job; workers sleep on it
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
};

}  // namespace ml
