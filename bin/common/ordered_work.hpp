#pragma once

#include <ml/start_threads.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

/// Runs jobs on threads and hands over their results in the order of the jobs. Few jobs wait or lie done at a
/// time, so memory stays bounded however many there are. What a job throws, add() or finish() throws.
template <class T>
class OrderedWork {
 public:
  /// @param n_threads  at least 1; with 1, and where none can be started, each job runs in add()
  /// @param take       receives each result, on the thread that calls add() and finish()
  OrderedWork(unsigned n_threads, std::function<void(T)> take)
      : take_(std::move(take)), worker_([this](unsigned) { work(); }) {
    if (n_threads > 1)
      threads_ = ml::start_threads(n_threads + 1, worker_);  // the caller takes results alone
  }

  ~OrderedWork() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      jobs_.clear();
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  void add(std::function<T()> job) {
    if (threads_.empty()) return take_(job());
    std::packaged_task<T()> task(std::move(job));
    results_.push_back(task.get_future());
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(task));
    }
    wake_.notify_one();
    while (results_.size() > 2 * threads_.size()) take_first();
  }

  /// Waits for all jobs.
  void finish() {
    while (!results_.empty()) take_first();
  }

 private:
  void take_first() {
    T result = results_.front().get();
    results_.pop_front();
    take_(std::move(result));
  }

  void work() {
    for (;;) {
      std::packaged_task<T()> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
        if (stop_) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  const std::function<void(T)> take_;
  const std::function<void(unsigned)> worker_;
  std::deque<std::future<T>> results_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<T()>> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cli
