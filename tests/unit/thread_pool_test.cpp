#include "util/thread_pool.hpp"
#include "catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace ml;

TEST_CASE("a pool covers every index once, whatever the threads and grain", "[util]") {
  for (const unsigned threads : {1u, 2u, 3u, 7u}) {
    ThreadPool pool(threads);
    for (const std::uint64_t n : {0ull, 1ull, 5ull, 1000ull}) {
      for (const std::uint64_t grain : {1ull, 3ull, 64ull, 5000ull}) {
        std::vector<std::atomic<int>> seen(n);
        pool.run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
          for (std::uint64_t i = begin; i < end; ++i) seen[i].fetch_add(1);
        });
        int wrong = 0;
        for (const auto& count : seen) wrong += count != 1;
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("a pool survives many short jobs", "[util]") {
  ThreadPool pool(3);
  std::atomic<std::uint64_t> sum{0};
  for (int i = 0; i < 2000; ++i) {
    pool.run(8, 1, [&](std::uint64_t begin, std::uint64_t) { sum.fetch_add(begin); });
  }
  CHECK(sum == 2000 * 28);
}

TEST_CASE("a pool's caller works alone after another thread was interrupted", "[util]") {
  using std::chrono::microseconds;
  ThreadPool pool(2);
  // This machine may interrupt the test itself, so that a rest is over before it is seen.
  bool rested = false;
  for (int attempt = 0; attempt < 50 && !rested; ++attempt) {
    bool interrupted = false;
    pool.run_threads(8, 1, [&](unsigned thread, std::uint64_t, std::uint64_t) {
      if (thread == 1 && !interrupted) {
        interrupted = true;
        std::this_thread::sleep_for(microseconds(10000));
      } else {
        std::this_thread::sleep_for(microseconds(100));
      }
    });
    std::atomic<int> by_other{0};
    pool.run_threads(50, 1, [&](unsigned thread, std::uint64_t, std::uint64_t) {
      by_other += thread == 1;
      std::this_thread::sleep_for(microseconds(20));
    });
    rested = interrupted && by_other == 0;
  }
  CHECK(rested);
}
