#pragma once

#include <ml/inspect.hpp>
#include <ml/model.hpp>

#include "util/mapped_file.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace ml {

/// One file format. A function that is null means that this version cannot do it, and the text beside it says
/// why.
struct Format {
  std::string_view name;   ///< "mlb"
  std::string_view title;  ///< "a .mlb model", as in "file is a .mlb model"
  bool (*matches)(std::span<const std::byte> bytes);
  Result<Model> (*open)(std::shared_ptr<const InputBytes> input, const std::string& path,
                        const OpenOptions& options);
  Status not_open;
  std::string_view why_not_open;  ///< "which is no model"
  Result<FileReport> (*inspect)(std::shared_ptr<const InputBytes> input, const std::string& path,
                                const InspectOptions& options);
  /// The bytes of a whole file by its beginning; nothing where that does not say it. Null where it never
  /// does.
  std::optional<std::uint64_t> (*file_bytes)(std::span<const std::byte> start) = nullptr;

  /// @return how many bytes are worth waiting for from a pipe that begins so
  std::uint64_t most_bytes(std::span<const std::byte> start) const;
};

/// @return every format of a single file
std::span<const Format> formats();

/// Finds the format of a file by its content.
///
/// @error format  empty, or none; the message shows the first bytes
Result<const Format*> sniff_format(std::span<const std::byte> bytes);

/// For InputBytes::open(): a file of any known format.
Result<std::uint64_t> format_start(std::span<const std::byte> start);

/// A model in a file that is open.
///
/// @error  as Model::open()
Result<Model> open_model(std::shared_ptr<const InputBytes> input, const std::string& path,
                         const OpenOptions& options);

/// The model folder that a path means: a folder, or the folder around a config.json. Empty for other paths.
std::string model_folder_of(const std::string& path);

}  // namespace ml
