#include <ml/output.hpp>

#include "util/random_bits.hpp"
#include "util/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace ml {

namespace {

Error too_many() { return {.status = Status::limit, .message = "too many temporary files at a time"}; }

}  // namespace

// Slots of the registry of temporaries name the folder and its files from the moment at which they may be
// there.
struct TemporaryFolder::Impl {
  std::string path;
  std::string name;  // in its parent
  int parent_fd = -1;
  int slot = -1;
  int folder_fd = -1;
  std::vector<std::pair<std::string, int>> files;

  ~Impl() {
    for (const auto& [file, file_slot] : files) {
      ::unlinkat(folder_fd, file.c_str(), 0);
      temporaries::drop(file_slot);
    }
    if (folder_fd >= 0) ::close(folder_fd);
    if (slot >= 0) {
      ::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR);
      temporaries::drop(slot);
    }
    if (parent_fd >= 0) ::close(parent_fd);
  }
};

TemporaryFolder::TemporaryFolder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TemporaryFolder::TemporaryFolder(TemporaryFolder&&) noexcept = default;
TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&&) noexcept = default;
TemporaryFolder::~TemporaryFolder() = default;

Result<TemporaryFolder> TemporaryFolder::create(const std::string& name) {
  const char* given = std::getenv("TMPDIR");
  const std::string parent = given != nullptr && *given != '\0' ? given : "/tmp";
  const auto failure = [&parent](std::string what) {
    return Error{.status = Status::io, .message = std::move(what), .path = parent, .os_errno = errno};
  };
  auto impl = std::make_unique<Impl>();
  impl->parent_fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (impl->parent_fd < 0) return failure("cannot open");
  impl->name = fmt::format("{}-{:016x}", name, random_bits());
  impl->path = parent + "/" + impl->name;
  const int slot = temporaries::add(impl->parent_fd, impl->name);
  if (slot < 0) return too_many();
  if (::mkdirat(impl->parent_fd, impl->name.c_str(), 0700) != 0) {
    const Error error = failure("cannot create a folder in it");
    temporaries::drop(slot);
    return error;
  }
  impl->slot = slot;
  impl->folder_fd = ::open(impl->path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (impl->folder_fd < 0) return failure("cannot open the folder made in it");
  return TemporaryFolder(std::move(impl));
}

const std::string& TemporaryFolder::path() const { return impl_->path; }

Result<std::string> TemporaryFolder::file(const std::string& name) {
  const int slot = temporaries::add(impl_->folder_fd, name);
  if (slot < 0) return too_many();
  impl_->files.emplace_back(name, slot);
  return impl_->path + "/" + name;
}

}  // namespace ml
