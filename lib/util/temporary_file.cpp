#include "util/temporary_file.hpp"

#include "util/random_bits.hpp"
#include "util/rename.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace ml {

namespace {

constexpr int kTries = 16;
constexpr mode_t kMode = 0666;  // less the umask, as any program's files

Error io_error(std::string what) {
  return {.status = Status::io, .message = std::move(what), .os_errno = errno};
}

Error exists_error() { return {.status = Status::io, .message = "exists; -f replaces it"}; }

std::string random_name(const std::string& name) {
  constexpr std::size_t kFrame = 1 + 1 + 16 + 4;  // dot, dot, random digits, ".tmp"
  return fmt::format(".{}.{:016x}.tmp", name.substr(0, NAME_MAX - kFrame), random_bits());
}

std::string proc_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// A file keeps the permissions of the one that it replaces.
void copy_mode(int folder_fd, const std::string& name, int fd) {
  struct stat old;
  if (::fstatat(folder_fd, name.c_str(), &old, 0) == 0 && S_ISREG(old.st_mode)) {
    [[maybe_unused]] const int ignored = ::fchmod(fd, old.st_mode & 0777);  // FAT has no modes
  }
}

}  // namespace

int sync_to_disk(int fd) {
  int status;
  do status = ::fsync(fd);
  while (status != 0 && errno == EINTR);
  return status;
}

void start_writeback([[maybe_unused]] int fd, [[maybe_unused]] std::uint64_t begin,
                     [[maybe_unused]] std::uint64_t n_bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
  constexpr std::uint64_t kWorthwhile = 1 << 16;
  if (n_bytes < kWorthwhile) return;
  ::sync_file_range(fd, static_cast<off_t>(begin), static_cast<off_t>(n_bytes), SYNC_FILE_RANGE_WRITE);
#endif
}

Result<TemporaryFile> TemporaryFile::create(const std::string& folder, const std::string& name,
                                            Method method) {
  TemporaryFile file;
  file.name_ = name;
  file.folder_fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file.folder_fd_ < 0) return io_error(fmt::format("cannot open folder {}", folder));
  if (method == Method::anonymous_if_possible) {
    file.fd_ = ::openat(file.folder_fd_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    // Naming it later goes through /proc.
    if (file.fd_ >= 0 && ::access(proc_path(file.fd_).c_str(), F_OK) == 0) return file;
    if (file.fd_ >= 0) ::close(std::exchange(file.fd_, -1));
    // Other errors (no permission, no space, read-only) come again with a name and are reported there.
  }
  if (auto error = file.open_named()) {
    if (error->status == Status::io) error->message = fmt::format("cannot create a file in {}", folder);
    return std::move(*error);
  }
  return file;
}

std::optional<Error> TemporaryFile::open_named() {
  for (int i = 0; i < kTries; ++i) {
    temporary_name_ = random_name(name_);
    slot_ = temporaries::add(folder_fd_, temporary_name_);
    if (slot_ < 0)
      return Error{.status = Status::limit, .message = "too many files are being written at once"};
    fd_ = ::openat(folder_fd_, temporary_name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kMode);
    if (fd_ >= 0) return std::nullopt;
    const Error error = io_error({});
    temporaries::drop(std::exchange(slot_, -1));
    if (error.os_errno != EEXIST && error.os_errno != EINTR) return error;
  }
  errno = EEXIST;
  return io_error({});
}

Result<void> TemporaryFile::publish(bool replace) {
  if (replace) copy_mode(folder_fd_, name_, fd_);
  if (sync_to_disk(fd_) != 0) return io_error("cannot flush to disk");
  if (anonymous()) {
    ML_CHECK(link_anonymous(replace));
  } else {
    ML_CHECK(rename_named(replace));
  }
  // Some file systems cannot flush a folder; that is no failure of ours.
  if (sync_to_disk(folder_fd_) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EBADF) {
    return io_error("cannot flush its folder to disk");
  }
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) return io_error("cannot close");
  return {};
}

Result<void> TemporaryFile::link_anonymous(bool replace) {
  const std::string source = proc_path(fd_);
  if (::linkat(AT_FDCWD, source.c_str(), folder_fd_, name_.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  if (errno != EEXIST) return io_error("cannot name the written file");
  if (!replace) return exists_error();
  // No call links over an existing name, so the file gets a passing name and is renamed.
  for (int i = 0; i < kTries; ++i) {
    temporary_name_ = random_name(name_);
    slot_ = temporaries::add(folder_fd_, temporary_name_);
    if (slot_ < 0)
      return Error{.status = Status::limit, .message = "too many files are being written at once"};
    if (::linkat(AT_FDCWD, source.c_str(), folder_fd_, temporary_name_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return rename_named(true);
    }
    const Error error = io_error("cannot name the written file");
    temporaries::drop(std::exchange(slot_, -1));
    if (error.os_errno != EEXIST) return error;
  }
  return io_error("cannot name the written file");
}

Result<void> TemporaryFile::rename_named(bool replace) {
  const int status =
      replace ? ::renameat(folder_fd_, temporary_name_.c_str(), folder_fd_, name_.c_str())
              : rename_to_free_name(folder_fd_, temporary_name_.c_str(), folder_fd_, name_.c_str());
  if (status != 0 && !replace && errno == EEXIST) return exists_error();
  if (status != 0) return io_error("cannot rename the written file");
  temporaries::drop(std::exchange(slot_, -1));
  return {};
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_fd_(std::exchange(other.folder_fd_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)),
      name_(std::move(other.name_)),
      temporary_name_(std::move(other.temporary_name_)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  if (this != &other) {
    close();
    folder_fd_ = std::exchange(other.folder_fd_, -1);
    fd_ = std::exchange(other.fd_, -1);
    slot_ = std::exchange(other.slot_, -1);
    name_ = std::move(other.name_);
    temporary_name_ = std::move(other.temporary_name_);
  }
  return *this;
}

TemporaryFile::~TemporaryFile() { close(); }

void TemporaryFile::close() {
  if (slot_ >= 0) {
    ::unlinkat(folder_fd_, temporary_name_.c_str(), 0);
    temporaries::drop(std::exchange(slot_, -1));
  }
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (folder_fd_ >= 0) ::close(std::exchange(folder_fd_, -1));
}

}  // namespace ml
