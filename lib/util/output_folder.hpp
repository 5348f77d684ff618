#pragma once

#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ml {

/// A folder, or a single file, that appears complete under its name or not at all.
///
/// Files are written in any order inside ".NAME.RANDOM.tmp" beside the target; commit() flushes them and
/// renames. Without it (an error, a signal) nothing is left and what had the name stays.
class OutputFolder {
 public:
  enum class Kind { folder, single_file };

  /// @param path   not "-"; its parent must be there; links are followed
  /// @param force  replace what has that name: a file, or a folder that holds nothing but .safetensors and
  ///               files of the names in `owned`
  /// @error io     it is there and !force, or is no such folder; no permission
  static Result<OutputFolder> create(const std::string& path, Kind kind, bool force,
                                     std::vector<std::string> owned);

  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  /// Begins a file of a known size; the one before it is complete. @error io
  Result<void> begin_file(const std::string& name, std::uint64_t n_bytes);
  /// Writes into the file that was begun last. @error io
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// A file at once. @error io
  Result<void> write_file(const std::string& name, std::span<const std::byte> bytes);
  /// Makes the folder, or its only file, appear. @error io
  Result<void> commit();

 private:
  OutputFolder() = default;
  Result<void> finish_file();
  Error failure(std::string what, const std::string& name = {}) const;
  void remove_all();

  std::string path_;
  std::string name_;       // the last part of path_
  std::string temporary_;  // its name beside the target
  Kind kind_ = Kind::folder;
  bool force_ = false;
  std::vector<std::string> owned_;
  int parent_fd_ = -1;
  int folder_fd_ = -1;
  int folder_slot_ = -1;
  int file_fd_ = -1;
  std::vector<std::pair<std::string, int>> files_;  // and their slots in the registry of temporaries
};

}  // namespace ml
