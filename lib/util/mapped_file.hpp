#pragma once

#include <ml/input.hpp>
#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ml {

/// Looks at the beginning of a pipe or device before the rest is waited for.
///
/// @param start  its first 64 KiB, or all of it where it is shorter
/// @return       how many bytes it may have, or why none of its kind is wanted
using CheckStart = Result<std::uint64_t> (*)(std::span<const std::byte> start);

/// The bytes of a whole file, read-only: mapped where the file allows it, read into memory where it does not
/// (a pipe, standard input as "-", a device). Either way data() starts at a multiple of 64.
class InputBytes {
 public:
  /// @param check  asked once for a pipe or device, which may never end
  /// @error io     cannot open or read (a folder, a missing file, no permission); os_errno says why; no
  /// regular
  ///               file where the rules want one
  /// @error limit  holds more than the rules or `check` allow
  /// @error nomem  a pipe holds more than memory does
  static Result<std::shared_ptr<const InputBytes>> open(const std::string& path, const InputRules& rules = {},
                                                        CheckStart check = nullptr);
  /// A file that nobody named, beside or inside an operand: a pipe would be waited for in vain.
  static Result<std::shared_ptr<const InputBytes>> open_regular(const std::string& path,
                                                                std::uint64_t max_bytes = kNoMaxBytes) {
    return open(path, {.max_bytes = max_bytes, .regular = true});
  }

  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  std::span<const std::byte> data() const { return {data_, size_}; }
  /// False where the bytes were read into memory.
  bool mapped() const { return mapped_; }

 private:
  InputBytes(std::byte* data, std::size_t size, std::size_t reserved, bool mapped)
      : data_(data), size_(size), reserved_(reserved), mapped_(mapped) {}

  std::byte* data_;
  std::size_t size_;
  std::size_t reserved_;  // bytes of address space
  bool mapped_;
};

}  // namespace ml
