#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace ml {

/// Lets the pieces of a job that threads finish in any order act one after the other, piece 0 first. Pieces
/// must be handed out in order, as ThreadPool does, and each must have its turn.
class OrderedTurns {
 public:
  /// The turn of one piece. It passes where nobody took it, or the action threw, and then no later piece
  /// acts.
  class Turn {
   public:
    Turn(OrderedTurns& turns, std::uint64_t piece) : turns_(turns), piece_(piece) {}
    ~Turn() {
      if (done_) return;
      turns_.await(piece_);
      turns_.broken_ = true;
      turns_.pass();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Waits for the pieces before this one; once only.
    template <class Action>
    void take(Action action) {
      turns_.await(piece_);
      if (!turns_.broken_) action();
      done_ = true;
      turns_.pass();
    }

   private:
    OrderedTurns& turns_;
    std::uint64_t piece_;
    bool done_ = false;
  };

 private:
  void await(std::uint64_t piece) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == piece; });
  }
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool broken_ = false;  // belongs to who has the turn
};

}  // namespace ml
