#include "util/rename.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

// musl has no name for this call of Linux, or has one since lately.
#ifndef RENAME_NOREPLACE
inline constexpr unsigned RENAME_NOREPLACE = 1;
inline constexpr unsigned RENAME_EXCHANGE = 2;

static int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name,
                     unsigned flags) {
  return static_cast<int>(::syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}
#endif

namespace ml {

namespace {

bool lacks_flags() { return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP; }

}  // namespace

int rename_to_free_name(int old_folder, const char* old_name, int new_folder, const char* new_name) {
  const int status = ::renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
  if (status == 0 || !lacks_flags()) return status;
  if (::faccessat(new_folder, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return ::renameat(old_folder, old_name, new_folder, new_name);
}

int exchange_names(int folder, const char* first, const char* second) {
  const int status = ::renameat2(folder, first, folder, second, RENAME_EXCHANGE);
  if (status == 0 || !lacks_flags()) return status;
  const std::string aside = std::string(first) + ".old";
  if (::renameat(folder, second, folder, aside.c_str()) != 0) return -1;
  if (::renameat(folder, first, folder, second) == 0) return ::renameat(folder, aside.c_str(), folder, first);
  const int error = errno;
  ::renameat(folder, aside.c_str(), folder, second);
  errno = error;
  return -1;
}

}  // namespace ml
