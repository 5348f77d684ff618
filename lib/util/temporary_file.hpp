#pragma once

#include <ml/status.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ml {

/// A file without a name of its own yet, in the folder where it shall appear.
///
/// Where the file system can (O_TMPFILE) it has no name at all, so nothing is left however the process ends.
/// Elsewhere it is ".NAME.RANDOM.tmp", removed by the destructor and by remove_temporaries().
class TemporaryFile {
 public:
  enum class Method { anonymous_if_possible, named };

  /// @param folder  where the file shall appear
  /// @param name    its final name there
  /// @error io      the folder is missing or not writable
  static Result<TemporaryFile> create(const std::string& folder, const std::string& name,
                                      Method method = Method::anonymous_if_possible);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  int fd() const { return fd_; }
  bool anonymous() const { return slot_ < 0; }

  /// Flushes to disk and gives the file its final name.
  /// @param replace  an older file of that name gives way; without it that is an error
  /// @error io       any call failed; then the folder is as it was
  Result<void> publish(bool replace);

 private:
  TemporaryFile() = default;
  Result<void> link_anonymous(bool replace);
  Result<void> rename_named(bool replace);
  std::optional<Error> open_named();
  void close();

  int folder_fd_ = -1;
  int fd_ = -1;
  int slot_ = -1;  // in the registry of names that a signal must remove; -1: the file has no name
  std::string name_;
  std::string temporary_name_;
};

/// Flushes a file or folder to disk, through interruptions. @return 0, or -1 and errno
int sync_to_disk(int fd);

/// Has the disk begin on bytes just written, so that sync_to_disk() has less to wait for. A hint: no errors.
void start_writeback(int fd, std::uint64_t begin, std::uint64_t n_bytes);

/// Names a signal handler must remove.
namespace temporaries {

/// Names that can be registered at a time.
inline constexpr int kMax = 512;

/// @param name  below the folder, as it is named until it is complete
/// @return      a slot, or -1 when all are taken
int add(int folder_fd, const std::string& name);
/// @param slot  -1 is none
void drop(int slot);

}  // namespace temporaries

}  // namespace ml
