#pragma once

#include "common/text.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace cli {

class Tool;

/// A line on standard error with a bar, the rate and the remaining time. It is drawn only on a terminal,
/// without
/// --quiet, and once the job has taken a second; it is gone when the object is.
///
/// ```
/// cli::Progress progress(tool, "quantizing", n_bytes, cli::human_size);
/// progress.advance(chunk);   // from any thread
/// ```
class Progress {
 public:
  using Format = std::string (*)(std::uint64_t);

  /// @param total   units of work; 0: unknown, then no bar
  /// @param format  writes a number of units: human_size, human_count
  /// @param before  units that an earlier run has done: part of the bar, not of the rate
  Progress(const Tool& tool, std::string label, std::uint64_t total, Format format = human_count,
           std::uint64_t before = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds finished units. Cheap; thread-safe.
  void advance(std::uint64_t units);
  /// Sets the finished units. Cheap; thread-safe.
  void set(std::uint64_t done);

 private:
  void draw(std::uint64_t done, std::int64_t now);

  const bool wanted_;
  const std::string label_;
  const std::uint64_t total_;
  const Format format_;
  const std::uint64_t before_;
  const std::int64_t start_;
  std::atomic<std::uint64_t> done_;
  std::atomic<std::int64_t> next_draw_;
  std::mutex mutex_;
};

/// Removes a drawn progress line, so that a message can be written in its place.
void clear_progress();

/// The line itself, for a terminal of `columns`.
/// @param before   of `done`, what was done before the clock ran
/// @param unicode  fine blocks instead of '#'
std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t columns, bool unicode, Progress::Format format,
                          std::uint64_t before = 0);

}  // namespace cli
