#include "common/progress.hpp"

#include "common/process.hpp"
#include "common/terminal.hpp"
#include "common/tool.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace cli {

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kSilence = kNanoseconds;        // before the first drawing
constexpr std::int64_t kInterval = kNanoseconds / 10;  // between drawings
constexpr std::size_t kMaxBar = 30;

// Columns of the line that is on the terminal now; 0: none.
std::atomic<std::size_t> drawn_columns{0};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string clock_time(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t columns, bool unicode, Progress::Format format, std::uint64_t before) {
  const double rate = seconds > 0 ? static_cast<double>(done - std::min(before, done)) / seconds : 0;
  const std::string speed = format(static_cast<std::uint64_t>(rate)) + "/s";
  if (total == 0) return fmt::format("{}  {}  {}", label, format(done), speed).substr(0, columns - 1);
  done = std::min(done, total);
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string left = rate > 0 ? clock_time(static_cast<double>(total - done) / rate) : "-:--";
  const std::string head = fmt::format("{} ", label);
  const std::string tail = fmt::format(" {:3.0f} %  {}  {} left", std::floor(share * 100), speed, left);
  if (head.size() + tail.size() + 4 > columns) return fmt::format("{:3.0f} %", std::floor(share * 100));
  const std::size_t width = std::min(kMaxBar, columns - head.size() - tail.size() - 3);
  return head + "[" + bar(share, width, unicode) + "]" + tail;
}

Progress::Progress(const Tool& tool, std::string label, std::uint64_t total, Format format,
                   std::uint64_t before)
    : wanted_(tool.progress_wanted()),
      label_(std::move(label)),
      total_(total),
      format_(format),
      before_(before),
      start_(now_ns()),
      done_(before),
      next_draw_(start_ + kSilence) {}

Progress::~Progress() { clear_progress(); }

void Progress::advance(std::uint64_t units) {
  const std::uint64_t done = done_.fetch_add(units, std::memory_order_relaxed) + units;
  if (wanted_) draw(done, now_ns());
}

void Progress::set(std::uint64_t done) {
  done_.store(done, std::memory_order_relaxed);
  if (wanted_) draw(done, now_ns());
}

void Progress::draw(std::uint64_t done, std::int64_t now) {
  if (now < next_draw_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is drawing
  next_draw_.store(now + kInterval, std::memory_order_relaxed);
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  const double seconds = static_cast<double>(now - start_) / static_cast<double>(kNanoseconds);
  const std::string line =
      progress_line(label_, done, total_, seconds, columns, unicode_terminal(), format_, before_);
  // Blanks rather than an escape sequence wipe the rest: every terminal knows them.
  const std::size_t length = std::min(line.size(), columns - 1);
  const std::size_t old = drawn_columns.exchange(length);
  const std::string blanks(old > length ? old - length : 0, ' ');
  write_fully(STDERR_FILENO, "\r" + line + blanks);
}

void clear_progress() {
  const std::size_t columns = drawn_columns.exchange(0);
  if (columns > 0) write_fully(STDERR_FILENO, "\r" + std::string(columns, ' ') + "\r");
}

}  // namespace cli
