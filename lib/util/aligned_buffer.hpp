#pragma once

#include <ml/status.hpp>

#include "util/checked.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ml {

/// Zeroed, page-aligned memory for n elements of a plain type. Pages cost nothing until they are touched.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  /// @error nomem  n elements do not fit into memory
  static Result<AlignedBuffer> allocate(std::uint64_t n) {
    AlignedBuffer buffer;
    if (n == 0) return buffer;
    const auto bytes = (Checked(n) * sizeof(T)).get();
    void* memory = bytes && *bytes <= PTRDIFF_MAX
                       ? ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
      return Error{.status = Status::nomem,
                   .message = fmt::format("no memory for {} x {} bytes", n, sizeof(T))};
    }
    buffer.data_ = static_cast<T*>(memory);
    buffer.size_ = n;
    return buffer;
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() {
    if (data_ != nullptr) ::munmap(data_, size_ * sizeof(T));
  }

  /// Asks for large pages, which spare faults and look-ups of addresses where much of the memory will be
  /// used.
  void use_large_pages() {
    if (data_ != nullptr) ::madvise(data_, n_bytes(), MADV_HUGEPAGE);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t n_bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace ml
