#include "util/thread_pool.hpp"
#include "catch.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
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

namespace {

using std::chrono::microseconds;

// A job whose second thread stops in the middle of a piece; false where it came too late for one.
bool run_interrupted(ThreadPool& pool) {
  bool interrupted = false;
  pool.run_threads(8, 1, [&](unsigned thread, std::uint64_t, std::uint64_t) {
    const bool stop = thread == 1 && !interrupted;
    if (stop) interrupted = true;
    std::this_thread::sleep_for(microseconds(stop ? 10000 : 100));
  });
  return interrupted;
}

// Pieces of a job of n, each of this length, that the second thread did.
int pieces_of_other(ThreadPool& pool, std::uint64_t n, microseconds length) {
  std::vector<int> seen(n);
  std::atomic<int> by_other{0};
  pool.run_threads(n, 1, [&](unsigned thread, std::uint64_t begin, std::uint64_t) {
    ++seen[begin];
    by_other += thread == 1;
    std::this_thread::sleep_for(length);
  });
  REQUIRE(seen == std::vector<int>(n, 1));
  return by_other;
}

}  // namespace

// The machine may interrupt these tests themselves, so they try again.
TEST_CASE("a pool's caller works alone after another thread was interrupted", "[util]") {
  ThreadPool pool(2);
  bool rested = false;
  for (int attempt = 0; attempt < 50 && !rested; ++attempt) {
    rested = run_interrupted(pool) && pieces_of_other(pool, 20, microseconds(20)) == 0;
  }
  CHECK(rested);
}

TEST_CASE("a pool's other threads come back within a long job", "[util]") {
  ThreadPool pool(2);
  bool came_back = false;
  for (int attempt = 0; attempt < 50 && !came_back; ++attempt) {
    came_back = run_interrupted(pool) && pieces_of_other(pool, 600, microseconds(1000)) > 0;
  }
  CHECK(came_back);
}

namespace {

// Lets this thread, and those that it starts, run on one of its cores alone.
class OneCore {
 public:
  OneCore() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (unsigned core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

// Seconds of processor time that jobs like those of a model's layers take, all threads together: other
// programs do not count.
double processor_seconds(unsigned n_threads) {
  const auto now = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double begin = now();
  ThreadPool pool(n_threads);
  std::vector<std::uint64_t> values(64 * 16, 1);
  for (int job = 0; job < 300; ++job) {
    pool.run(64, 1, [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from * 16; i < to * 16; ++i)
        for (int step = 0; step < 150; ++step) values[i] = values[i] * 6364136223846793005u + 1;
    });
  }
  CHECK(std::count(values.begin(), values.end(), values[0]) == 64 * 16);
  return now() - begin;
}

}  // namespace

TEST_CASE("64 threads on one core cost little more than one", "[util]") {
  const OneCore one_core;
  double one = 1e9, many = 1e9;
  for (int attempt = 0; attempt < 20 && (attempt < 3 || many > 2 * one); ++attempt) {
    one = std::min(one, processor_seconds(1));
    many = std::min(many, processor_seconds(64));
  }
  CAPTURE(one, many);
  CHECK(many <= 2 * one);
}

namespace {

// Runs a job in which the pieces of some threads throw. @return whether run_threads() threw
bool throws(ThreadPool& pool, const std::function<bool(unsigned)>& chosen) {
  std::atomic<int> under_way{0};
  const std::string text = "longer than what the string of an exception holds in itself";
  try {
    pool.run_threads(64, 1, [&](unsigned thread, std::uint64_t, std::uint64_t) {
      ++under_way;
      std::this_thread::sleep_for(microseconds(50));
      --under_way;
      if (chosen(thread)) throw std::runtime_error(text);
    });
    return false;
  } catch (const std::runtime_error& error) {
    CHECK(under_way == 0);
    CHECK(error.what() == text);
    return true;
  }
}

}  // namespace

TEST_CASE("a pool throws what a job threw on any thread, and goes on working", "[util]") {
  const auto on_caller = [](unsigned thread) { return thread == 0; };
  const auto on_others = [](unsigned thread) { return thread != 0; };
  const auto on_all = [](unsigned) { return true; };
  for (const unsigned n_threads : {1u, 2u, 4u}) {
    ThreadPool pool(n_threads);
    for (const auto& chosen : {std::function<bool(unsigned)>(on_caller), {on_others}, {on_all}}) {
      // Which thread comes to a piece is not determined.
      bool thrown = false;
      for (int attempt = 0; attempt < 50 && !thrown; ++attempt) thrown = throws(pool, chosen);
      CHECK(thrown == (n_threads > 1 || chosen(0)));
      std::vector<std::atomic<int>> seen(500);
      pool.run(500, 3, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
      });
      CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }));
    }
  }
}

TEST_CASE("a forked process works with an inherited pool, and destroys it", "[util]") {
  auto pool = std::make_unique<ThreadPool>(4);
  std::atomic<std::uint64_t> sum = 0;
  const auto add = [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; };
  pool->run(1000, 1, add);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    sum = 0;
    pool->run(1000, 1, add);
    pool.reset();
    ::_exit(sum == 1000 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(status == 0);
}
