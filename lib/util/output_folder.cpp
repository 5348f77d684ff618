#include "util/output_folder.hpp"

#include "util/links.hpp"
#include "util/random_bits.hpp"
#include "util/rename.hpp"
#include "util/show_name.hpp"
#include "util/temporary_file.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>

namespace ml {

namespace {

Error io_error(std::string what, const std::string& path, int number) {
  return {.status = Status::io, .message = std::move(what), .path = path, .os_errno = number};
}

bool is_part(const std::string& name, std::span<const std::string> owned) {
  return name.ends_with(".safetensors") || std::find(owned.begin(), owned.end(), name) != owned.end();
}

// Only plain files that a folder of this kind is made of are replaced, never what somebody else put there.
Result<std::vector<std::string>> replaceable_files(const std::string& path,
                                                   std::span<const std::string> owned) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!is_part(name, owned) || it->is_symlink(error) || !it->is_regular_file(error)) {
      return Error{
          .status = Status::io,
          .message = fmt::format("exists and holds {}, which is no file of such a folder: not replaced",
                                 show_name(name)),
          .path = path};
    }
    names.push_back(name);
  }
  if (error) return io_error("cannot read the folder", path, error.value());
  return names;
}

// Its files go, whatever their number is now: another process may have replaced the folder since it was
// listed.
bool remove_parts(int parent_fd, const std::string& name, std::span<const std::string> owned) {
  const int fd = ::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  DIR* const folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return false;
  }
  std::vector<std::string> parts;
  for (const dirent* entry = ::readdir(folder); entry != nullptr; entry = ::readdir(folder)) {
    if (is_part(entry->d_name, owned)) parts.emplace_back(entry->d_name);
  }
  for (const std::string& part : parts) ::unlinkat(fd, part.c_str(), 0);
  ::closedir(folder);
  return ::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0;
}

// Until then a signal removes what has these names.
struct DropAtEnd {
  std::vector<std::pair<std::string, int>> files;

  ~DropAtEnd() {
    for (const auto& [file, slot] : files) temporaries::drop(slot);
  }
};

}  // namespace

Error OutputFolder::failure(std::string what, const std::string& name) const {
  return io_error(std::move(what), name.empty() || kind_ == Kind::single_file ? path_ : path_ + "/" + name,
                  errno);
}

Result<OutputFolder> OutputFolder::create(const std::string& path, Kind kind, bool force,
                                          std::vector<std::string> owned) {
  OutputFolder out;
  out.path_ = path;
  while (out.path_.size() > 1 && out.path_.ends_with('/')) out.path_.pop_back();
  auto target = follow_links(out.path_);
  if (!target) return with_path(std::move(target.error()), path);
  out.path_ = *std::move(target);
  while (out.path_.size() > 1 && out.path_.ends_with('/')) out.path_.pop_back();
  out.owned_ = std::move(owned);
  const std::size_t slash = out.path_.rfind('/');
  out.name_ = slash == std::string::npos ? out.path_ : out.path_.substr(slash + 1);
  const std::string parent = folder_of(out.path_);
  out.kind_ = kind;
  out.force_ = force;
  if (out.name_.empty() || out.name_ == "." || out.name_ == "..") {
    return Error{.status = Status::arg,
                 .message = "names no folder that can be replaced; give its name",
                 .path = path};
  }
  struct stat info;
  if (::stat(out.path_.c_str(), &info) == 0) {
    if (!force) return Error{.status = Status::io, .message = "exists; -f replaces it", .path = path};
    if (S_ISDIR(info.st_mode) != (kind == Kind::folder)) {
      errno = kind == Kind::folder ? ENOTDIR : EISDIR;
      return out.failure("cannot replace");
    }
    if (kind == Kind::folder) ML_CHECK(replaceable_files(out.path_, out.owned_));
  }
  out.parent_fd_ = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out.parent_fd_ < 0) return io_error("cannot open folder " + parent, path, errno);
  out.temporary_ = fmt::format(".{}.{:016x}.tmp", out.name_.substr(0, NAME_MAX - 32), random_bits());
  out.folder_slot_ = temporaries::add(out.parent_fd_, out.temporary_);
  if (out.folder_slot_ < 0)
    return Error{
        .status = Status::limit, .message = "too many files are being written at once", .path = path};
  if (::mkdirat(out.parent_fd_, out.temporary_.c_str(), 0777) != 0) {
    const Error error = out.failure("cannot create a folder in " + parent);
    temporaries::drop(std::exchange(out.folder_slot_, -1));
    return error;
  }
  out.folder_fd_ = ::openat(out.parent_fd_, out.temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out.folder_fd_ < 0) return out.failure("cannot open");
  return out;
}

Result<void> OutputFolder::begin_file(const std::string& name, std::uint64_t n_bytes) {
  ML_CHECK(finish_file());
  // By the temporary folder's name: when that has become the target's, a signal finds nothing to remove
  // there.
  const int slot = temporaries::add(parent_fd_, temporary_ + "/" + name);
  if (slot < 0)
    return Error{
        .status = Status::limit, .message = "too many files are being written at once", .path = path_};
  files_.emplace_back(name, slot);
  do file_fd_ = ::openat(folder_fd_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  while (file_fd_ < 0 && errno == EINTR);
  if (file_fd_ < 0) return failure("cannot create", name);
  int status;
  do status = ::ftruncate(file_fd_, static_cast<off_t>(n_bytes));
  while (status != 0 && errno == EINTR);
  if (status != 0) return failure("cannot write", name);
  return {};
}

Result<void> OutputFolder::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t begin = offset;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure("cannot write", files_.back().first);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  start_writeback(file_fd_, begin, offset - begin);
  return {};
}

Result<void> OutputFolder::write_file(const std::string& name, std::span<const std::byte> bytes) {
  ML_CHECK(begin_file(name, bytes.size()));
  return write_at(0, bytes);
}

Result<void> OutputFolder::finish_file() {
  if (file_fd_ < 0) return {};
  const bool flushed = sync_to_disk(file_fd_) == 0 || errno == EINVAL || errno == ENOTSUP;
  if (!flushed) return failure("cannot flush to disk", files_.back().first);
  if (::close(std::exchange(file_fd_, -1)) != 0 && errno != EINTR)
    return failure("cannot write", files_.back().first);
  return {};
}

Result<void> OutputFolder::commit() {
  ML_CHECK(finish_file());
  const char* name = name_.c_str();
  if (kind_ == Kind::single_file) {
    const char* written = files_[0].first.c_str();
    const int renamed = force_ ? ::renameat(folder_fd_, written, parent_fd_, name)
                               : rename_to_free_name(folder_fd_, written, parent_fd_, name);
    if (renamed != 0) return failure("cannot rename");
    temporaries::drop(files_[0].second);
    files_.clear();
    remove_all();
    sync_to_disk(parent_fd_);
    return {};
  }
  if (sync_to_disk(folder_fd_) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EBADF)
    return failure("cannot flush to disk");
  int status = rename_to_free_name(parent_fd_, temporary_.c_str(), parent_fd_, name);
  const bool replaces = status != 0 && errno == EEXIST && force_;
  std::vector<std::string> old;
  if (replaces) {
    ML_TRY(old, replaceable_files(path_, owned_));
    for (const std::string& file : old)
      files_.emplace_back(file, temporaries::add(parent_fd_, temporary_ + "/" + file));
    status = exchange_names(parent_fd_, temporary_.c_str(), name);
  }
  if (status != 0) return failure("cannot rename");
  const DropAtEnd registered{std::exchange(files_, {})};
  if (replaces && !remove_parts(parent_fd_, temporary_, owned_))  // what was there has the temporary name now
    return failure("replaced, but cannot remove what was there, " + temporary_);
  temporaries::drop(std::exchange(folder_slot_, -1));
  sync_to_disk(parent_fd_);
  return {};
}

void OutputFolder::remove_all() {
  for (const auto& [file, slot] : files_) {
    ::unlinkat(folder_fd_, file.c_str(), 0);
    temporaries::drop(slot);
  }
  files_.clear();
  if (folder_slot_ < 0) return;
  ::unlinkat(parent_fd_, temporary_.c_str(), AT_REMOVEDIR);
  temporaries::drop(std::exchange(folder_slot_, -1));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      temporary_(std::move(other.temporary_)),
      kind_(other.kind_),
      force_(other.force_),
      owned_(std::move(other.owned_)),
      parent_fd_(std::exchange(other.parent_fd_, -1)),
      folder_fd_(std::exchange(other.folder_fd_, -1)),
      folder_slot_(std::exchange(other.folder_slot_, -1)),
      file_fd_(std::exchange(other.file_fd_, -1)),
      files_(std::exchange(other.files_, {})) {}

OutputFolder::~OutputFolder() {
  remove_all();
  if (file_fd_ >= 0) ::close(file_fd_);
  if (folder_fd_ >= 0) ::close(folder_fd_);
  if (parent_fd_ >= 0) ::close(parent_fd_);
}

}  // namespace ml
