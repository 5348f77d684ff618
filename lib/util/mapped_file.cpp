#include "util/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace ml {

namespace {

constexpr std::size_t kAlignment = 64;

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
  return {.status = Status::io, .message = what, .path = path, .os_errno = errno};
}

struct FreeDeleter {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte, FreeDeleter>;

Buffer allocate(std::size_t capacity) {
  return Buffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity)));
}

struct Read {
  Buffer buffer;
  std::size_t size = 0;
};

Error no_memory(const std::string& path) {
  return {.status = Status::nomem, .message = "input does not fit into memory", .path = path};
}

// Memory grows with what arrives, so a lying size costs nothing.
Result<Read> read_all(int fd, const std::string& path) {
  std::size_t capacity = std::size_t(1) << 16;
  Read read{allocate(capacity), 0};
  if (!read.buffer) return no_memory(path);
  for (;;) {
    if (read.size == capacity) {
      if (capacity >= InputBytes::kMaxPipeBytes) return no_memory(path);
      Buffer larger = allocate(capacity * 2);
      if (!larger) return no_memory(path);
      std::memcpy(larger.get(), read.buffer.get(), read.size);
      read.buffer = std::move(larger);
      capacity *= 2;
    }
    const ssize_t n = ::read(fd, read.buffer.get() + read.size, capacity - read.size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "cannot read");
    if (n == 0) return read;
    read.size += static_cast<std::size_t>(n);
  }
}

}  // namespace

Result<std::shared_ptr<const InputBytes>> InputBytes::open(const std::string& path) {
  const bool standard_input = path == "-";
  const FileDescriptor fd(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC),
                          !standard_input);
  if (fd.get() < 0) return io_error(path, "cannot open");
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "cannot stat");
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return io_error(path, "cannot read");
  }
  const bool at_start = !standard_input || ::lseek(fd.get(), 0, SEEK_CUR) == 0;
  if (S_ISREG(info.st_mode) && info.st_size > 0 && at_start) {
    if (info.st_size > PTRDIFF_MAX) return no_memory(path);
    const auto size = static_cast<std::size_t>(info.st_size);
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (map != MAP_FAILED) {
#ifdef MADV_HUGEPAGE
      // What is not in memory yet comes in huge pages, where kernel and file system can.
      constexpr std::size_t kHugePage = std::size_t(1) << 21;
      if (size >= kHugePage) ::madvise(map, size, MADV_HUGEPAGE);
#endif
      return std::shared_ptr<const InputBytes>(new InputBytes(static_cast<std::byte*>(map), size, true));
    }
  }
  auto read = read_all(fd.get(), path);
  if (!read) return std::move(read.error());
  return std::shared_ptr<const InputBytes>(new InputBytes(read->buffer.release(), read->size, false));
}

InputBytes::~InputBytes() {
  if (mapped_) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace ml
