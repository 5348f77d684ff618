#include "catch.hpp"
#include "data.hpp"
#include "util/temporary_file.hpp"

#include <ml/output.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace ml;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ml-output-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void put(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(fd);
}

Result<void> save(const std::string& path, std::string_view text, const OutputOptions& options = {}) {
  auto file = OutputFile::create(path, options);
  if (!file) return file.error();
  if (auto written = file->write(bytes(text)); !written) return written;
  return file->commit();
}

std::string error_of(const Result<void>& result) { return result ? "no error" : describe(result.error()); }

mode_t mode_of(const std::string& path) {
  struct stat info;
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

}  // namespace

TEST_CASE("an output file appears at commit, whole", "[util]") {
  const Folder folder;
  std::string expected;
  {
    auto file = OutputFile::create(folder / "out");
    REQUIRE(file);
    for (int i = 0; i < 100000; ++i) {
      const std::string line = std::to_string(i) + "\n";
      REQUIRE(file->write(bytes(line)));
      expected += line;
    }
    const std::string large(1 << 20, 'x');
    REQUIRE(file->write(bytes(large)));
    REQUIRE(file->write_zeros(10001));
    expected += large + std::string(10001, '\0');
    CHECK(file->position() == expected.size());
    CHECK_FALSE(fs::exists(folder / "out"));
    REQUIRE(file->commit());
    CHECK_FALSE(file->write(bytes("late")));
    CHECK_FALSE(file->commit());
  }
  CHECK(read_file(folder / "out") == expected);
  CHECK(folder.count() == 1);
}

TEST_CASE("without a commit nothing is left and the old file stays", "[util]") {
  const Folder folder;
  put(folder / "old", "old");
  {
    auto fresh = OutputFile::create(folder / "new");
    auto over = OutputFile::create(folder / "old", {.force = true});
    REQUIRE(fresh);
    REQUIRE(over);
    REQUIRE(fresh->write(bytes("text")));
    REQUIRE(over->write(bytes("text")));
  }
  CHECK(folder.count() == 1);
  CHECK(read_file(folder / "old") == "old");
}

TEST_CASE("an existing file needs force, at the start and at the end", "[util]") {
  const Folder folder;
  const std::string out = folder / "out";
  put(out, "old");
  CHECK(error_of(save(out, "new")) == out + ": exists; -f replaces it (ML_E_IO)");
  CHECK(read_file(out) == "old");
  CHECK(save(out, "new", {.force = true}));
  CHECK(read_file(out) == "new");
  auto late = OutputFile::create(folder / "late");
  REQUIRE(late);
  put(folder / "late", "first");
  CHECK(error_of(late->commit()) == (folder / "late") + ": exists; -f replaces it (ML_E_IO)");
  CHECK(read_file(folder / "late") == "first");
  CHECK(folder.count() == 2);
}

TEST_CASE("permissions follow the umask, or the replaced file", "[util]") {
  const Folder folder;
  const mode_t old = ::umask(027);
  CHECK(save(folder / "out", "x"));
  ::umask(old);
  CHECK(mode_of(folder / "out") == 0640);
  REQUIRE(::chmod((folder / "out").c_str(), 0600) == 0);
  CHECK(save(folder / "out", "y", {.force = true}));
  CHECK(mode_of(folder / "out") == 0600);
}

TEST_CASE("an output that is an input is refused, under any name", "[util]") {
  const Folder folder;
  put(folder / "in", "old");
  fs::create_symlink("in", folder / "soft");
  fs::create_hard_link(folder / "in", folder / "hard");
  for (const char* name : {"in", "soft", "hard"}) {
    for (const char* input : {"in", "soft", "hard"}) {
      const auto result = save(folder / name, "new", {.force = true, .inputs = {"-", folder / input}});
      REQUIRE_FALSE(result);
      CHECK(result.error().status == Status::arg);
      CHECK(result.error().message == "output and input " + (folder / input) + " are the same file");
    }
  }
  CHECK(read_file(folder / "in") == "old");
}

TEST_CASE("a link stays a link", "[util]") {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/target", folder / "link");
  CHECK(save(folder / "link", "one"));
  CHECK(read_file(folder / "sub/target") == "one");
  CHECK_FALSE(save(folder / "link", "two"));
  CHECK(save(folder / "link", "two", {.force = true}));
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "sub/target") == "two");
  fs::create_symlink("loop", folder / "loop");
  CHECK(error_of(save(folder / "loop", "x")) ==
        (folder / "loop") + ": cannot follow the links: " + std::strerror(ELOOP) + " (ML_E_IO)");
}

TEST_CASE("targets that cannot be written say why", "[util]") {
  const Folder folder;
  const std::string missing = folder / "missing";
  CHECK(error_of(save(folder.path(), "x")) == folder.path() + ": cannot write: Is a directory (ML_E_IO)");
  CHECK(error_of(save(folder / "new/", "x")) ==
        (folder / "new/") + ": cannot write: Is a directory (ML_E_IO)");
  CHECK(error_of(save(missing + "/x", "x")) ==
        missing + "/x: cannot open folder " + missing + ": No such file or directory (ML_E_IO)");
  put(folder / "file", "");
  CHECK(error_of(save(folder / "file/x", "x")) ==
        (folder / "file/x") + ": cannot open folder " + (folder / "file") + ": Not a directory (ML_E_IO)");
  CHECK(error_of(save("", "x")) == "cannot create: No such file or directory (ML_E_IO)");
  CHECK(error_of(save(folder / std::string(300, 'n'), "x")) ==
        (folder / std::string(300, 'n')) + ": cannot create: " + std::strerror(ENAMETOOLONG) + " (ML_E_IO)");
  CHECK(save(folder / std::string(255, 'n'), "x"));
  CHECK(save(folder / std::string(255, 'n'), "y", {.force = true}));
  // A folder that nobody may write to, not even root.
  CHECK_FALSE(save("/proc/self/out", "x"));
}

TEST_CASE("devices and pipes are written in place", "[util]") {
  CHECK(save("/dev/null", "x"));
  CHECK(error_of(save("/dev/full", "x")) == "/dev/full: cannot write: No space left on device (ML_E_IO)");
  const Folder folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = read_file(folder / "fifo"); });
  const std::string text(300000, 't');
  CHECK(save(folder / "fifo", text));
  reader.join();
  CHECK(got == text);
  CHECK(fs::is_fifo(folder / "fifo"));
}

TEST_CASE("binary is not written to a terminal", "[util]") {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) {
    WARN("no pseudo-terminal here: skipped");
    return;
  }
  const std::string terminal = ::ptsname(master);
  const auto refused = save(terminal, "x");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::arg);
  CHECK(save(terminal, "x", {.binary = false}));
  ::close(master);
}

TEST_CASE("a write that fails half-way leaves nothing", "[util]") {
  const Folder folder;
  put(folder / "old", "old");
  rlimit old;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{.rlim_cur = 100000, .rlim_max = old.rlim_max};
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto fresh = save(folder / "new", std::string(1000000, 'x'));
  const auto over = save(folder / "old", std::string(200000, 'x'), {.force = true});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  ::signal(SIGXFSZ, old_handler);
  CHECK(error_of(fresh) == (folder / "new") + ": cannot write: File too large (ML_E_IO)");
  CHECK(error_of(over) == (folder / "old") + ": cannot write: File too large (ML_E_IO)");
  CHECK(folder.count() == 1);
  CHECK(read_file(folder / "old") == "old");
}

TEST_CASE("a full disk is an error and leaves nothing", "[util]") {
  const Folder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    WARN("cannot mount a small tmpfs here: skipped");
    return;
  }
  const auto result = save(folder / "out", std::string(1000000, 'x'));
  const std::size_t left = folder.count();
  const bool fits = static_cast<bool>(save(folder / "out", std::string(30000, 'x')));
  REQUIRE(::mount("none", folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  const auto read_only = save(folder / "other", "x");
  REQUIRE(::umount(folder.path().c_str()) == 0);
  CHECK(error_of(result) == (folder / "out") + ": cannot write: No space left on device (ML_E_IO)");
  CHECK(left == 0);
  CHECK(fits);
  CHECK(error_of(read_only) == (folder / "other") + ": cannot create a file in " + folder.path() +
                                   ": Read-only file system (ML_E_IO)");
}

TEST_CASE("temporary files without a name and with one end alike", "[util]") {
  const auto method = GENERATE(TemporaryFile::Method::anonymous_if_possible, TemporaryFile::Method::named);
  const Folder folder;
  {
    auto dropped = TemporaryFile::create(folder.path(), "out", method);
    REQUIRE(dropped);
    CHECK((method == TemporaryFile::Method::anonymous_if_possible || !dropped->anonymous()));
    CHECK(folder.count() == (dropped->anonymous() ? 0u : 1u));
  }
  CHECK(folder.count() == 0);
  for (const bool replace : {false, true}) {
    auto file = TemporaryFile::create(folder.path(), "out", method);
    REQUIRE(file);
    REQUIRE(::write(file->fd(), "text", 4) == 4);
    REQUIRE(file->publish(replace));
    CHECK(read_file(folder / "out") == "text");
  }
  auto second = TemporaryFile::create(folder.path(), "out", method);
  REQUIRE(second);
  const auto refused = second->publish(false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "exists; -f replaces it");
  *second = std::move(*TemporaryFile::create(folder.path(), "other", method));
  CHECK(second->publish(false));
  CHECK(folder.count() == 2);
}

TEST_CASE("a temporary folder goes away with its files", "[util]") {
  const Folder parent;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", (parent / "").c_str(), 1);
  const auto make = [](const std::string& path) {
    auto out = OutputFile::create(path);
    REQUIRE(out);
    REQUIRE(out->write(bytes("abc")));
    REQUIRE(out->commit());
  };
  {
    auto folder = TemporaryFolder::create("bench");
    REQUIRE(folder);
    CHECK(folder->path().starts_with(parent / ""));
    const auto one = folder->file("one");
    REQUIRE(one);
    REQUIRE(folder->file("never made"));
    make(*one);
    CHECK(fs::file_size(*one) == 3);
    const TemporaryFolder moved = std::move(*folder);
    CHECK(fs::exists(moved.path()));
  }
  CHECK(parent.count() == 0);
  {
    auto folder = TemporaryFolder::create("bench");
    REQUIRE(folder);
    make(*folder->file("one"));
    remove_temporaries();
    CHECK(parent.count() == 0);
  }
  ::setenv("TMPDIR", (parent / "missing").c_str(), 1);
  const auto missing = TemporaryFolder::create("bench");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().path == parent / "missing");
  CHECK(missing.error().os_errno == ENOENT);
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
}

TEST_CASE("a signal handler can remove named temporary files", "[util]") {
  const Folder folder;
  std::vector<TemporaryFile> files;
  for (int i = 0; i < temporaries::kMax; ++i) {
    auto file = TemporaryFile::create(folder.path(), "out", TemporaryFile::Method::named);
    REQUIRE(file);
    files.push_back(std::move(*file));
  }
  const auto beyond = TemporaryFile::create(folder.path(), "out", TemporaryFile::Method::named);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().status == Status::limit);
  CHECK(folder.count() == temporaries::kMax);
  remove_temporaries();
  CHECK(folder.count() == 0);
  const auto published = files.front().publish(false);
  REQUIRE_FALSE(published);
  CHECK(published.error().os_errno == ENOENT);
}
