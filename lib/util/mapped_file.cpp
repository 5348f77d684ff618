#include "util/mapped_file.hpp"

#include "util/try.hpp"

#include <ml/try_again.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ml {

namespace {

constexpr std::size_t kFirstRead = std::size_t(1) << 16;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  ~FileDescriptor() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
  bool owned_;
};

Error io_error(const std::string& path, const char* what) {
  return {.status = Status::io, .message = what, .path = path.empty() ? "''" : path, .os_errno = errno};
}

Error no_memory(const std::string& path) {
  return {.status = Status::nomem, .message = "input does not fit into memory", .path = path};
}

// A 32-bit program has addresses for so much.
Error beyond_addresses(const std::string& path, std::uint64_t size) {
  return {.status = Status::nomem,
          .message =
              fmt::format("is {} bytes, a {}-bit program can map {}", size, 8 * sizeof(void*), PTRDIFF_MAX),
          .path = path};
}

Error over_limit(const std::string& path, std::uint64_t most) {
  return {.status = Status::limit,
          .message = fmt::format("holds more than {} bytes, the most that is read of such a file", most),
          .path = path};
}

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Memory that the kernel could give without ending somebody's process for it.
std::uint64_t available_bytes() {
  constexpr std::string_view kField = "MemAvailable:";
  std::array<char, 1024> text;
  const FileDescriptor fd(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC), true);
  const ssize_t n = fd.get() < 0 ? -1 : ::read(fd.get(), text.data(), text.size() - 1);
  if (n <= 0) return kNoMaxBytes;
  text[static_cast<std::size_t>(n)] = '\0';
  const char* found = std::strstr(text.data(), kField.data());
  return found == nullptr ? kNoMaxBytes : std::strtoull(found + kField.size(), nullptr, 10) * 1024;
}

// Address space that grows in place or moves without a copy.
class GrowingMemory {
 public:
  ~GrowingMemory() {
    if (data_ != nullptr) ::munmap(data_, capacity_);
  }
  GrowingMemory() = default;
  GrowingMemory(GrowingMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(other.capacity_), size(other.size) {}
  GrowingMemory& operator=(GrowingMemory&&) = delete;

  bool grow() {
    const std::size_t capacity = capacity_ == 0 ? kFirstRead : 2 * capacity_;
    if (capacity > kMuch && capacity - capacity_ > available_bytes()) return false;
    void* grown = data_ == nullptr
                      ? ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : ::mremap(data_, capacity_, capacity, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) return false;
    data_ = grown;
    capacity_ = capacity;
    return true;
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t capacity() const { return capacity_; }
  std::byte* release() { return static_cast<std::byte*>(std::exchange(data_, nullptr)); }

 private:
  static constexpr std::size_t kMuch = std::size_t(64) << 20;
  void* data_ = nullptr;
  std::size_t capacity_ = 0;

 public:
  std::size_t size = 0;
};

// Memory grows with what arrives, so a lying size costs nothing.
Result<GrowingMemory> read_all(int fd, const std::string& path, std::uint64_t max_bytes, CheckStart check) {
  GrowingMemory memory;
  if (!memory.grow()) return no_memory(path);
  const auto check_start = [&]() -> Result<void> {
    if (check == nullptr) return {};
    auto most = std::exchange(check, nullptr)({memory.data(), memory.size});
    if (!most) return with_path(std::move(most.error()), path);
    max_bytes = std::min(max_bytes, *most);
    return {};
  };
  for (;;) {
    if (memory.size == memory.capacity()) {
      ML_CHECK(check_start());
      if (!memory.grow()) return no_memory(path);
    }
    const ssize_t n = ::read(fd, memory.data() + memory.size, memory.capacity() - memory.size);
    if (n < 0 && try_again(fd, POLLIN)) continue;
    if (n < 0) return io_error(path, "cannot read");
    memory.size += static_cast<std::size_t>(n);
    if (memory.size > max_bytes) return over_limit(path, max_bytes);
    if (n > 0) continue;
    ML_CHECK(check_start());
    if (memory.size > max_bytes) return over_limit(path, max_bytes);
    return memory;
  }
}

}  // namespace

Result<std::shared_ptr<const InputBytes>> InputBytes::open(const std::string& path, const InputRules& rules,
                                                           CheckStart check) {
  const bool standard_input = path == "-" && !rules.regular;
  // Opening a pipe waits for a writer, unless asked not to.
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (rules.regular ? O_NONBLOCK : 0);
  const FileDescriptor fd(standard_input ? STDIN_FILENO : ::open(path.c_str(), flags), !standard_input);
  if (fd.get() < 0) return io_error(path, "cannot open");
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "cannot stat");
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return io_error(path, "cannot read");
  }
  const bool regular = S_ISREG(info.st_mode);
  if (rules.regular && !regular) {
    return Error{.status = Status::io,
                 .message = fmt::format("is {}, must be a regular file", kind_of(info.st_mode)),
                 .path = path};
  }
  const bool at_start = !standard_input || ::lseek(fd.get(), 0, SEEK_CUR) == 0;
  if (regular && info.st_size > 0 && at_start) {
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > rules.max_bytes) return over_limit(path, rules.max_bytes);
    if (size > PTRDIFF_MAX) return beyond_addresses(path, size);
    const auto n = static_cast<std::size_t>(size);
    void* map = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (map != MAP_FAILED) {
#ifdef MADV_HUGEPAGE
      // What is not in memory yet comes in huge pages, where kernel and file system can.
      constexpr std::size_t kHugePage = std::size_t(1) << 21;
      if (n >= kHugePage) ::madvise(map, n, MADV_HUGEPAGE);
#endif
      return std::shared_ptr<const InputBytes>(new InputBytes(static_cast<std::byte*>(map), n, n, true));
    }
    if (errno == ENOMEM) return no_memory(path);  // reading would need no fewer addresses
  }
  auto read = read_all(fd.get(), path, rules.max_bytes, check);
  if (!read) return std::move(read.error());
  const std::size_t size = read->size, reserved = read->capacity();
  return std::shared_ptr<const InputBytes>(new InputBytes(read->release(), size, reserved, false));
}

InputBytes::~InputBytes() { ::munmap(data_, reserved_); }

}  // namespace ml
