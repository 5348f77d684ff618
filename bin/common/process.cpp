#include "common/process.hpp"

#include <ml/output.hpp>
#include <ml/try_again.hpp>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <initializer_list>
#include <new>

namespace cli {

namespace {

std::string_view program_name;

// Only async-signal-safe calls. The line goes out in one piece, and only the first one: other threads that
// come here, or have come, wait for the end of the process.
[[noreturn]] void end_with_message(std::string_view name, std::string_view text) {
  static std::atomic_flag spoken = ATOMIC_FLAG_INIT;
  while (spoken.test_and_set()) ::pause();
  ml::remove_temporaries();
  char line[512];
  const std::size_t n = name.copy(line, sizeof line - text.size());
  write_fully(STDERR_FILENO, {line, n + text.copy(line + n, text.size())});
  ::_exit(1);
}

void end_uncaught();
const std::terminate_handler default_handler = std::set_terminate(end_uncaught);

void end_uncaught() {
  if (const std::exception_ptr uncaught = std::current_exception()) {
    try {
      std::rethrow_exception(uncaught);
    } catch (const std::bad_alloc&) {
      end_with_message(program_invocation_short_name, ": memory could not be allocated (ML_E_NOMEM)\n");
    } catch (...) {  // a fault of the program
    }
  }
  default_handler();
}

// Only async-signal-safe calls. SA_RESETHAND has restored the default action, so the signal ends the process
// with the status its parent expects.
void end_by_signal(int signal) {
  ml::remove_temporaries();
  ::raise(signal);
}

// A mapped input that shrank: its pages past the new end cannot be read.
void end_by_bus_error(int) {
  end_with_message(program_name, ": an input file became shorter while it was read (ML_E_IO)\n");
}

}  // namespace

void guard_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong direction on purpose. open() takes the lowest number, which is fd.
    [[maybe_unused]] const int taken = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void install_signal_handlers(std::string_view name) {
  program_name = name;
  struct sigaction bus_error {};
  bus_error.sa_handler = end_by_bus_error;
  sigemptyset(&bus_error.sa_mask);
  ::sigaction(SIGBUS, &bus_error, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    // What the caller ignores (nohup) stays ignored, but a reader that went away must end us.
    if (signal != SIGPIPE && ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = end_by_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

int write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && ml::try_again(fd, POLLOUT)) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace cli
