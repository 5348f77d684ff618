#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ml {

/// The most that is read of a JSON file: the largest tokenizer.json known has 35 MB.
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t(256) << 20;
/// The most that is read of a text that is wanted in memory at once.
inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t(4) << 30;
inline constexpr std::uint64_t kNoMaxBytes = ~std::uint64_t(0);

/// What a file must be before it is read.
struct InputRules {
  std::uint64_t max_bytes = kNoMaxBytes;
  bool regular = false;  ///< no pipe, device or socket, which could stall or never end
};

/// Reads a whole file, pipe or device into memory; "-" is standard input.
///
/// @return      its bytes, whatever they are
/// @error io    cannot open or read, os_errno says why; not what the rules want
/// @error limit over rules.max_bytes
/// @error nomem
ML_API Result<std::string> read_text(const std::string& path,
                                     const InputRules& rules = {.max_bytes = kMaxTextBytes});

/// Reads a file, pipe or device from its beginning to its end, a part at a time.
class ML_API InputStream {
 public:
  /// @param path  "-" is standard input
  /// @error io    cannot open (a missing file, no permission)
  static Result<InputStream> open(const std::string& path);

  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;
  ~InputStream();

  /// Waits for bytes, at most buffer.size() of them.
  ///
  /// @return    the number of bytes that were written to `buffer`; 0 at the end
  /// @error io  cannot read (a folder); os_errno says why
  Result<std::size_t> read(std::span<char> buffer);

 private:
  struct Impl;
  explicit InputStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ml
