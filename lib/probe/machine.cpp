#include <ml/probe.hpp>

#include <fmt/format.h>

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace ml {

namespace {

// The text after the colon of the first line that begins with `key`.
std::string field_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu = field_of("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = field_of("/proc/cpuinfo", "CPU part");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  machine.cores = available_threads();
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.memory_bytes = std::uint64_t(pages) * std::uint64_t(page);
  utsname name{};
  if (::uname(&name) == 0) machine.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  return machine;
}

std::uint64_t peak_memory_bytes() {
  // "123456 kB"
  if (const std::string peak = field_of("/proc/self/status", "VmHWM"); !peak.empty())
    return 1024 * std::strtoull(peak.c_str(), nullptr, 10);
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * static_cast<std::uint64_t>(usage.ru_maxrss) : 0;
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace ml
