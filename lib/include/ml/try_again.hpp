#pragma once

#include <poll.h>

#include <cerrno>

namespace ml {

/// After a read or write that failed: is it to be tried again? At once after a signal; for a pipe that does
/// not block, once it is ready, which this waits for.
///
/// @param events  POLLIN or POLLOUT
inline bool try_again(int fd, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{.fd = fd, .events = events, .revents = 0};
  return ::poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace ml
