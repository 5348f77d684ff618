#include <ml/output.hpp>
#include <ml/try_again.hpp>

#include "util/links.hpp"
#include "util/refuse_inputs.hpp"
#include "util/temporary_file.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

namespace ml {

namespace {

// Files grow by whole pieces of a huge page: a file system that can then keeps them in huge pages, and who
// maps them reads half as fast again.
constexpr std::size_t kBufferBytes = std::size_t(1) << 21;

Error io_error(std::string what) {
  return {.status = Status::io, .message = std::move(what), .os_errno = errno};
}

Result<void> refuse_terminal(int fd, const OutputOptions& options) {
  if (!options.binary || ::isatty(fd) == 0) return {};
  return Error{.status = Status::arg,
               .message = "binary data is not written to a terminal; name a file or use a pipe"};
}

}  // namespace

struct OutputFile::Impl {
  std::string path;
  std::optional<TemporaryFile> temporary;  // empty: written in place
  int fd = -1;                             // owned only where written in place
  bool force = false;
  std::vector<std::byte> buffer;
  std::uint64_t position = 0;
  std::uint64_t written = 0;   // of position, what is no longer in the buffer
  std::optional<Error> error;  // the first failure; nothing is written after it

  ~Impl() {
    if (!temporary && fd >= 0) ::close(fd);
  }

  Result<void> fail(Error failure) {
    error = with_path(std::move(failure), path);
    return *error;
  }

  Result<void> write_now(std::span<const std::byte> bytes) {
    const std::uint64_t begin = std::exchange(written, written + bytes.size());
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && try_again(fd, POLLOUT)) continue;
      if (n < 0) return fail(io_error("cannot write"));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    if (temporary) start_writeback(fd, begin, written - begin);
    return {};
  }

  Result<void> flush() {
    ML_CHECK(write_now(buffer));
    buffer.clear();
    return {};
  }

  Result<void> open_standard_output(const OutputOptions& options);
  Result<void> open_in_place(const OutputOptions& options);
  Result<void> open_file(const OutputOptions& options);
  Result<void> finish_in_place();
};

Result<void> OutputFile::Impl::open_standard_output(const OutputOptions& options) {
  path = "standard output";
  struct stat info;
  if (::fstat(STDOUT_FILENO, &info) != 0) return io_error("cannot write");
  ML_CHECK(refuse_terminal(STDOUT_FILENO, options));
  ML_CHECK(refuse_inputs(info, options.inputs));
  fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0) return io_error("cannot write");
  return {};
}

// Devices, pipes and sockets have no content to keep or replace.
Result<void> OutputFile::Impl::open_in_place(const OutputOptions& options) {
  do fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return io_error("cannot open");
  return refuse_terminal(fd, options);
}

Result<void> OutputFile::Impl::open_file(const OutputOptions& options) {
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if ((exists && S_ISDIR(info.st_mode)) || path.ends_with('/')) {
    errno = EISDIR;
    return io_error("cannot write");
  }
  if (exists) {
    ML_CHECK(refuse_inputs(info, options.inputs));
    const bool keeps_bytes = S_ISREG(info.st_mode) || S_ISBLK(info.st_mode);
    if (keeps_bytes && !options.force)
      return Error{.status = Status::io, .message = "exists; -f replaces it"};
    if (!S_ISREG(info.st_mode)) return open_in_place(options);
  }
  ML_TRY(const std::string target, follow_links(path));
  const std::size_t slash = target.rfind('/');
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (name.empty()) {
    errno = ENOENT;
    return io_error("cannot create");
  }
  if (name.size() > NAME_MAX) {
    errno = ENAMETOOLONG;
    return io_error("cannot create");
  }
  ML_TRY(temporary, TemporaryFile::create(folder_of(target), name));
  fd = temporary->fd();
  return {};
}

Result<void> OutputFile::Impl::finish_in_place() {
  // A pipe or a device may not know fsync.
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP && errno != EINTR) {
    return fail(io_error("cannot flush to disk"));
  }
  if (::close(std::exchange(fd, -1)) != 0 && errno != EINTR) return fail(io_error("cannot write"));
  return {};
}

OutputFile::OutputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::create(const std::string& path, const OutputOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->force = options.force;
  const bool standard_output = path == "-" || path == "/dev/stdout";
  auto opened = standard_output ? impl->open_standard_output(options) : impl->open_file(options);
  if (!opened) return with_path(std::move(opened.error()), impl->path);
  return OutputFile(std::move(impl));
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  if (impl_->error) return *impl_->error;
  impl_->position += bytes.size();
  auto& buffer = impl_->buffer;
  while (!bytes.empty()) {
    std::size_t n = bytes.size() / kBufferBytes * kBufferBytes;
    if (buffer.empty() && n > 0) {
      ML_CHECK(impl_->write_now(bytes.first(n)));
    } else {
      n = std::min(bytes.size(), kBufferBytes - buffer.size());
      buffer.insert(buffer.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      if (buffer.size() == kBufferBytes) ML_CHECK(impl_->flush());
    }
    bytes = bytes.subspan(n);
  }
  return {};
}

Result<void> OutputFile::write_zeros(std::uint64_t n) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (n > 0) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(n, kZeros.size()));
    ML_CHECK(write(std::span(kZeros).first(piece)));
    n -= piece;
  }
  return {};
}

std::uint64_t OutputFile::position() const { return impl_->position; }

Result<void> OutputFile::become_standard_output() {
  ML_CHECK(impl_->flush());
  if (::dup2(impl_->fd, STDOUT_FILENO) < 0) return impl_->fail(io_error("cannot write"));
  return {};
}

Result<void> OutputFile::commit() {
  if (impl_->error) return *impl_->error;
  ML_CHECK(impl_->flush());
  if (!impl_->temporary) {
    ML_CHECK(impl_->finish_in_place());
  } else if (auto published = impl_->temporary->publish(impl_->force); !published) {
    return impl_->fail(std::move(published.error()));
  }
  impl_->error = Error{.status = Status::arg, .message = "the file is already complete", .path = impl_->path};
  return {};
}

}  // namespace ml
