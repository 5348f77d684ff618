#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

/// Begins the function that takes an input: libFuzzer's own, or, in fuzz-replay, one among all targets.
#ifdef ML_FUZZ_REPLAY
#include <map>

using FuzzFunction = int (*)(const std::uint8_t* data, std::size_t size);

inline std::map<std::string, FuzzFunction>& fuzz_targets() {
  static std::map<std::string, FuzzFunction> targets;
  return targets;
}

#define FUZZ_TARGET(name)                                                                \
  static int run_##name(const std::uint8_t* data, std::size_t size);                     \
  static const bool is_listed_##name = fuzz_targets().emplace(#name, run_##name).second; \
  static int run_##name([[maybe_unused]] const std::uint8_t* data, [[maybe_unused]] std::size_t size)
#else
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif

/// tests/data, where fuzzers find what their input goes with.
inline std::filesystem::path data_folder() {
  const char* root = std::getenv("ML_TEST_DATA");
  return root != nullptr ? root : "tests/data";
}

/// Bytes as a file that has a path, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n <= 0) std::abort();
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};
