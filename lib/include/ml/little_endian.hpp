#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace ml {

/// The bytes of numbers as files and digests have them: those in memory or, on a big-endian machine, a turned
/// copy.
class LittleEndian {
 public:
  /// @param numbers  stay where they are while the bytes are used
  template <class T, std::size_t kExtent>
  explicit LittleEndian(std::span<T, kExtent> numbers) : bytes_(std::as_bytes(numbers)) {
    if constexpr (std::endian::native != std::endian::little) {
      turned_.assign(bytes_.begin(), bytes_.end());
      for (auto at = turned_.begin(); at != turned_.end(); at += sizeof(T)) std::reverse(at, at + sizeof(T));
      bytes_ = turned_;
    }
  }
  LittleEndian(const LittleEndian&) = delete;
  LittleEndian& operator=(const LittleEndian&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> turned_;
  std::span<const std::byte> bytes_;
};

}  // namespace ml
