#include "catch.hpp"
#include "common/for_each_index.hpp"
#include "common/process.hpp"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// What a child writes to its standard error, and its wait status.
template <class Body>
std::string errors_of(const Body& body, int& status) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return text;
}

// Threads that nothing catches for run out of memory at once.
void exhaust_on_all_threads() {
  constexpr int kThreads = 8;
  std::atomic<int> n_ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ++n_ready;
      while (n_ready < kThreads) std::this_thread::yield();
      throw std::bad_alloc();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("threads without memory end the program with one line", "[cli]") {
  const std::string name = program_invocation_short_name;
  for (int attempt = 0; attempt < 20; ++attempt) {
    int status = 0;
    CHECK(errors_of(exhaust_on_all_threads, status) ==
          name + ": memory could not be allocated (ML_E_NOMEM)\n");
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
}

TEST_CASE("what a job of several threads throws comes to who called", "[cli]") {
  const auto run = [](std::size_t bad) {
    std::atomic<int> n{0};
    cli::for_each_index(100, 4, [&](std::size_t i) {
      ++n;
      if (i == bad) throw std::runtime_error("job");
    });
    return n.load();
  };
  for (const std::size_t bad : {0u, 1u, 50u, 99u}) CHECK_THROWS_AS(run(bad), std::runtime_error);
  CHECK(run(100) == 100);
}
