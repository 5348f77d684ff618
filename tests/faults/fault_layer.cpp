// A library for LD_PRELOAD that lets a program's calls to the system go wrong, one chosen call at a time.
//
// Calls that change files are numbered from 1 as they come: open and openat for writing, write and pwrite
// (standard error and standard input aside), ftruncate, fsync, linkat, renameat, renameat2, mkdirat,
// unlinkat, close of a descriptor that was opened for writing. ML_FAULT is KIND:N, and with call N happens
//
//   ENOSPC, EIO, ...  it and all later ones of its kind fail with that number (unlinkat and close do not)
//   EINTR             it alone is interrupted; calls that cannot be are let through
//   short             it writes half of its bytes; calls that do not write are let through
//   plain             from it on renameat2 knows no flags, as where the file system cannot keep their promise
//   KILL, INT, TERM, QUIT, XCPU, ALRM, USR1, USR2
//                     the process gets that signal before it; with a + after the name, after it
//   count             nothing; at the end the number of calls goes to the file ML_FAULT_LOG
//
// ML_FAULT_LOG gets a line for each fault that happened. ML_FAULT_MOST_BYTES ends the program with status 99
// when a single allocation is larger.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
extern "C" void* __libc_memalign(std::size_t, std::size_t);

namespace {

struct Plan {
  int error = 0;
  int signal = 0;
  bool after = false;
  bool half = false;
  bool plain = false;
  long at = 0;
};

struct ErrorName {
  const char* name;
  int number;
};
constexpr ErrorName kErrors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}};
constexpr ErrorName kSignals[] = {{"KILL", SIGKILL}, {"INT", SIGINT},   {"TERM", SIGTERM}, {"QUIT", SIGQUIT},
                                  {"XCPU", SIGXCPU}, {"ALRM", SIGALRM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

Plan read_plan() {
  Plan plan;
  const char* text = std::getenv("ML_FAULT");
  const char* colon = text == nullptr ? nullptr : std::strchr(text, ':');
  if (colon == nullptr) return plan;
  plan.at = std::atol(colon + 1);
  std::size_t n = static_cast<std::size_t>(colon - text);
  plan.after = n > 0 && text[n - 1] == '+';
  if (plan.after) --n;
  const auto named = [&](const char* name) {
    return std::strlen(name) == n && std::strncmp(name, text, n) == 0;
  };
  for (const ErrorName& row : kErrors) {
    if (named(row.name)) plan.error = row.number;
  }
  for (const ErrorName& row : kSignals) {
    if (named(row.name)) plan.signal = row.number;
  }
  plan.half = named("short");
  plan.plain = named("plain");
  return plan;
}

const Plan& plan() {
  static const Plan the_plan = read_plan();
  return the_plan;
}

std::atomic<long> n_calls{0};
std::atomic<bool> writable[4096];

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

ssize_t real_write(int fd, const void* data, std::size_t n) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return real(fd, data, n);
}

void log_line(const char* what, const char* call, long number) {
  const char* path = std::getenv("ML_FAULT_LOG");
  if (path == nullptr) return;
  static const auto open_file = next<int (*)(const char*, int, ...)>("open");
  static const auto close_file = next<int (*)(int)>("close");
  const int saved = errno;
  const int fd = open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  char line[200];
  const int n = std::snprintf(line, sizeof line, "%s %s %ld\n", what, call, number);
  if (fd >= 0 && n > 0) {
    [[maybe_unused]] const ssize_t ignored = real_write(fd, line, static_cast<std::size_t>(n));
    close_file(fd);
  }
  errno = saved;
}

struct Fault {
  bool fails = false;
  bool half = false;
  bool signal_after = false;
};

// @param may_fail  a call that programs have to expect to fail
Fault meet(const char* name, bool writes, bool may_fail, bool may_be_interrupted) {
  Fault fault;
  if (plan().at == 0 && std::getenv("ML_FAULT_LOG") == nullptr) return fault;
  const long number = ++n_calls;
  const bool now = number == plan().at;
  if (plan().signal != 0 && now) {
    log_line("signal", name, number);
    if (plan().after) {
      fault.signal_after = true;
    } else {
      ::raise(plan().signal);
    }
  }
  const bool sticky = plan().error != EINTR;
  if (plan().error != 0 && (now || (sticky && plan().at != 0 && number > plan().at)) && may_fail &&
      (sticky || may_be_interrupted)) {
    log_line("failed", name, number);
    errno = plan().error;
    fault.fails = true;
  }
  if (plan().half && now && writes) {
    log_line("cut", name, number);
    fault.half = true;
  }
  return fault;
}

void after(const Fault& fault) {
  if (fault.signal_after) ::raise(plan().signal);
}

// The counters of a build that measures coverage are none of the program's files.
bool is_counters(std::string_view path) { return path.ends_with(".gcda"); }

bool for_writing(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0; }

void mark(int fd, bool is_writable) {
  if (fd >= 0 && fd < 4096) writable[fd] = is_writable;
}

int opened(const char* name, int folder, const char* path, int flags, mode_t mode) {
  static const auto real = next<int (*)(int, const char*, int, ...)>("openat");
  if (!for_writing(flags) || is_counters(path)) return real(folder, path, flags, mode);
  const Fault fault = meet(name, false, true, true);
  if (fault.fails) return -1;
  const int fd = real(folder, path, flags, mode);
  mark(fd, true);
  after(fault);
  return fd;
}

mode_t mode_of(int flags, va_list& list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(list, unsigned)) : 0;
}

void check_size(std::size_t n) {
  static thread_local bool asking = false;
  if (asking) return;
  asking = true;
  static const char* const text = std::getenv("ML_FAULT_MOST_BYTES");
  asking = false;
  if (text == nullptr) return;
  std::size_t most = 0;
  for (const char* c = text; *c != '\0'; ++c) most = most * 10 + static_cast<std::size_t>(*c - '0');
  if (n <= most) return;
  constexpr char kText[] = "fault layer: an allocation is too large\n";
  [[maybe_unused]] const ssize_t ignored = real_write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(99);
}

struct CountAtEnd {
  ~CountAtEnd() {
    const char* text = std::getenv("ML_FAULT");
    if (text != nullptr && std::strncmp(text, "count:", 6) == 0) log_line("count", "calls", n_calls);
  }
} count_at_end;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return opened("open", AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return opened("open", AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return opened("openat", folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return opened("openat", folder, path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t n) {
  if (fd == STDERR_FILENO || n == 0) return real_write(fd, data, n);
  const Fault fault = meet("write", true, true, true);
  if (fault.fails) return -1;
  const ssize_t written = real_write(fd, data, fault.half ? (n + 1) / 2 : n);
  after(fault);
  return written;
}

static ssize_t pwritten(int fd, const void* data, size_t n, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  const Fault fault = meet("pwrite", true, true, true);
  if (fault.fails) return -1;
  const ssize_t written = real(fd, data, fault.half ? (n + 1) / 2 : n, offset);
  after(fault);
  return written;
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t offset) { return pwritten(fd, data, n, offset); }
ssize_t pwrite64(int fd, const void* data, size_t n, off_t offset) { return pwritten(fd, data, n, offset); }

static int truncated(int fd, off_t size) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  const Fault fault = meet("ftruncate", false, true, true);
  const int status = fault.fails ? -1 : real(fd, size);
  after(fault);
  return status;
}
int ftruncate(int fd, off_t size) { return truncated(fd, size); }
int ftruncate64(int fd, off_t size) { return truncated(fd, size); }

int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  const Fault fault = meet("fsync", false, true, true);
  const int status = fault.fails ? -1 : real(fd);
  after(fault);
  return status;
}

int linkat(int from, const char* old_path, int to, const char* new_path, int flags) {
  static const auto real = next<int (*)(int, const char*, int, const char*, int)>("linkat");
  const Fault fault = meet("linkat", false, true, false);
  const int status = fault.fails ? -1 : real(from, old_path, to, new_path, flags);
  after(fault);
  return status;
}

int renameat(int from, const char* old_path, int to, const char* new_path) {
  static const auto real = next<int (*)(int, const char*, int, const char*)>("renameat");
  const Fault fault = meet("renameat", false, true, false);
  const int status = fault.fails ? -1 : real(from, old_path, to, new_path);
  after(fault);
  return status;
}

int renameat2(int from, const char* old_path, int to, const char* new_path, unsigned flags) {
  static const auto real = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  Fault fault = meet("renameat2", false, true, false);
  if (plan().plain && flags != 0 && n_calls >= plan().at) {
    log_line("failed", "renameat2", n_calls);
    errno = EINVAL;
    fault.fails = true;
  }
  const int status = fault.fails ? -1 : real(from, old_path, to, new_path, flags);
  after(fault);
  return status;
}

int mkdirat(int folder, const char* path, mode_t mode) {
  static const auto real = next<int (*)(int, const char*, mode_t)>("mkdirat");
  const Fault fault = meet("mkdirat", false, true, false);
  const int status = fault.fails ? -1 : real(folder, path, mode);
  after(fault);
  return status;
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  const Fault fault = meet("mkdir", false, true, false);
  const int status = fault.fails ? -1 : real(path, mode);
  after(fault);
  return status;
}

int unlinkat(int folder, const char* path, int flags) {
  static const auto real = next<int (*)(int, const char*, int)>("unlinkat");
  const Fault fault = meet("unlinkat", false, false, false);
  const int status = real(folder, path, flags);
  after(fault);
  return status;
}

int close(int fd) {
  static const auto real = next<int (*)(int)>("close");
  if (fd < 0 || fd >= 4096 || !writable[fd].exchange(false)) return real(fd);
  const Fault fault = meet("close", false, false, false);
  const int status = real(fd);
  after(fault);
  return status;
}

void* malloc(size_t n) {
  check_size(n);
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  check_size(size != 0 && n > SIZE_MAX / size ? SIZE_MAX : n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* memory, size_t n) {
  check_size(n);
  return __libc_realloc(memory, n);
}
void* aligned_alloc(size_t alignment, size_t n) {
  check_size(n);
  return __libc_memalign(alignment, n);
}
int posix_memalign(void** memory, size_t alignment, size_t n) {
  check_size(n);
  *memory = __libc_memalign(alignment, n);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
