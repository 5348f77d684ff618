#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ml {

struct OutputOptions {
  bool force = false;                    ///< replace an existing file
  bool binary = true;                    ///< refuse a terminal as standard output
  std::vector<std::string> inputs = {};  ///< writing over one of these (same inode) is refused
};

/// A file that is either complete under its name or not there at all.
///
/// Writes go to a temporary file in the target's folder; commit() flushes it to disk and renames it. Without
/// a commit (an error, an exception, a signal) nothing is left and an older file stays as it was.
/// "-" is standard output: written as it comes, checked at commit. So are devices and pipes.
class ML_API OutputFile {
 public:
  /// @param path  a file, a link to one (the link stays), a device or pipe, "-" for standard output
  /// @error io   the folder is missing or not writable; the file exists and !force
  /// @error arg  the output is one of the inputs; binary output to a terminal
  static Result<OutputFile> create(const std::string& path, const OutputOptions& options = {});

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  /// Appends bytes (buffered). @error io
  Result<void> write(std::span<const std::byte> bytes);
  /// Appends n zero bytes. @error io
  Result<void> write_zeros(std::uint64_t n);
  /// Bytes written so far.
  std::uint64_t position() const;
  /// Lets what this process writes to standard output go into the file, up to commit(). Not for a path of
  /// "-".
  /// @error io
  Result<void> become_standard_output();
  /// Makes the file appear under its name. Nothing can be written after it. @error io
  Result<void> commit();

 private:
  struct Impl;
  explicit OutputFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A folder for files that are needed only while a program runs. It and they go away with the object, or by
/// remove_temporaries().
class ML_API TemporaryFolder {
 public:
  /// @param name  the folder becomes NAME-RANDOM in the folder that TMPDIR names, or in /tmp
  /// @error io    that folder is missing or not writable
  static Result<TemporaryFolder> create(const std::string& name);

  TemporaryFolder(TemporaryFolder&&) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) noexcept;
  ~TemporaryFolder();

  const std::string& path() const;
  /// The path of a file that the caller will make; a file of no other path may be made here.
  ///
  /// @param name    without a slash
  /// @error limit   too many temporary files at a time
  Result<std::string> file(const std::string& name);

 private:
  struct Impl;
  explicit TemporaryFolder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Removes the unfinished files and the temporary folders of this process. Safe in a signal handler, which is
/// its purpose: the library installs none. Nothing can be committed after it.
ML_API void remove_temporaries() noexcept;

}  // namespace ml
