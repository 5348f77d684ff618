#include "util/links.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace ml {

namespace {

constexpr int kMaxLinks = 40;  // as many as the kernel follows

Error io_error(std::string what) {
  return {.status = Status::io, .message = std::move(what), .os_errno = errno};
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::string> follow_links(std::string path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
    std::array<char, PATH_MAX> target;
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    if (n < 0) return io_error("cannot read the link");
    const std::string text(target.data(), static_cast<std::size_t>(n));
    path = text.starts_with('/') ? text : folder_of(path) + "/" + text;
  }
  errno = ELOOP;
  return io_error("cannot follow the links");
}

}  // namespace ml
