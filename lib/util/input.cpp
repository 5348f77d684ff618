#include <ml/input.hpp>
#include <ml/try_again.hpp>

#include "util/bytes.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace ml {

Result<std::string> read_text(const std::string& path, const InputRules& rules) {
  ML_TRY(const auto input, InputBytes::open(path, rules));
  try {
    return std::string(as_text(input->data()));
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "input does not fit into memory", .path = path};
  }
}

struct InputStream::Impl {
  Impl(std::string its_path, int its_fd) : path(std::move(its_path)), fd(its_fd) {}
  ~Impl() {
    if (fd != STDIN_FILENO) ::close(fd);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string path;
  int fd;
};

Result<InputStream> InputStream::open(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{.status = Status::io, .message = "cannot open", .path = path, .os_errno = errno};
  return InputStream(std::make_unique<Impl>(path, fd));
}

InputStream::InputStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;
InputStream::~InputStream() = default;

Result<std::size_t> InputStream::read(std::span<char> buffer) {
  for (;;) {
    const ssize_t n = ::read(impl_->fd, buffer.data(), buffer.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (try_again(impl_->fd, POLLIN)) continue;
    return Error{.status = Status::io, .message = "cannot read", .path = impl_->path, .os_errno = errno};
  }
}

}  // namespace ml
