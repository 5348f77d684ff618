#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace ml {

/// Lets the pieces of a job that threads finish in any order act one after the other, piece 0 first. Pieces
/// must be handed out in order, as ThreadPool does, and each must take its turn.
class OrderedTurns {
 public:
  template <class Action>
  void take(std::uint64_t piece, Action action) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == piece; });
    action();
    ++next_;
    lock.unlock();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
};

}  // namespace ml
