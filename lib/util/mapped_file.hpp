#pragma once

#include <ml/status.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ml {

/// The bytes of a whole file, read-only: mapped where the file allows it, read into 64-byte aligned memory
/// where it does not (a pipe, standard input as "-", a device). Either way data() starts at a multiple of 64.
class InputBytes {
 public:
  /// Memory that a pipe may fill before it is refused (ML_E_LIMIT).
  static constexpr std::uint64_t kMaxPipeBytes = std::uint64_t(1) << 40;

  /// @error io     cannot open or read (a folder, a missing file, no permission); os_errno says why
  /// @error nomem  a pipe holds more than memory does
  static Result<std::shared_ptr<const InputBytes>> open(const std::string& path);

  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  std::span<const std::byte> data() const { return {data_, size_}; }
  bool mapped() const { return mapped_; }

 private:
  InputBytes(std::byte* data, std::size_t size, bool mapped) : data_(data), size_(size), mapped_(mapped) {}

  std::byte* data_;
  std::size_t size_;
  bool mapped_;
};

}  // namespace ml
