// Every kernel of every target that this machine runs: its bits against scalar's, and with --bench its speed,
// one line each.
//
//   kernel-check [--bench] [PART-OF-A-NAME]

#include "kernels/check_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

using namespace ml;

namespace {

// Time that this thread had a CPU for, so that a busy machine disturbs less.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Shortest of several rounds of about two milliseconds, for one run.
double time_run(CheckCase& check, const kernels::Table& table) {
  constexpr double kRound = 2e-3;
  int n = 1;
  double best = 0;
  for (int round = 0; round < 9; ++round) {
    const double start = thread_seconds();
    for (int i = 0; i < n; ++i) check.run(table);
    const double seconds = (thread_seconds() - start) / n;
    best = round == 0 ? seconds : std::min(best, seconds);
    if (round == 0) n = std::max(1, static_cast<int>(kRound / std::max(seconds, 1e-7)));
  }
  return best;
}

std::string speed(const CheckCase& check, double seconds) {
  if (check.ops != 0) return fmt::format("{:8.1f} G{}/s", check.ops / seconds * 1e-9, check.unit);
  return fmt::format("{:8.2f} GB/s", check.bytes / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  bool bench = false;
  std::string_view part;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--bench") {
      bench = true;
    } else {
      part = argument;
    }
  }
  int n_wrong = 0;
  int n_checked = 0;
  for (const auto& check : check_cases()) {
    if (check->name.find(part) == std::string::npos) continue;
    check->run(kernels::scalar_table);
    const std::vector<std::byte> expected = check->output();
    const double scalar_seconds = bench ? time_run(*check, kernels::scalar_table) : 0;
    for (const Target target : available_targets()) {
      const kernels::Table& table = kernels::table_of(target);
      check->run(table);
      const bool same = check->output() == expected;
      n_wrong += same ? 0 : 1;
      ++n_checked;
      if (!bench) {
        if (!same) fmt::print("{:8} {:44} differs from scalar\n", target_name(target), check->name);
        continue;
      }
      const double seconds = target == Target::scalar ? scalar_seconds : time_run(*check, table);
      fmt::print("{:8} {:44} {} {} {:6.1f} x scalar\n", target_name(target), check->name,
                 same ? "ok     " : "DIFFERS", speed(*check, seconds), scalar_seconds / seconds);
      std::fflush(stdout);
    }
  }
  fmt::print("{} kernels checked, {} differ\n", n_checked, n_wrong);
  return n_wrong == 0 && n_checked > 0 ? 0 : 1;
}
