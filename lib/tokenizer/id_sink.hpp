#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ml {

/// Appends ids to a vector through a small buffer: a few at a time cost a store, not a check of the vector.
class IdSink {
 public:
  explicit IdSink(std::vector<std::uint32_t>& out) : out_(out) {}
  IdSink(const IdSink&) = delete;
  IdSink& operator=(const IdSink&) = delete;

  void push(std::uint32_t id) {
    make_room(1);
    buffer_[n_++] = id;
  }

  void append(std::span<const std::uint32_t> ids) {
    if (ids.size() > kSize) {
      flush();
      out_.insert(out_.end(), ids.begin(), ids.end());
      return;
    }
    make_room(ids.size());
    for (const std::uint32_t id : ids) buffer_[n_++] = id;
  }

  /// Room for n ids, at most kMaxRoom: what is written there counts from grow() on.
  static constexpr std::size_t kMaxRoom = 2048;
  std::uint32_t* room(std::size_t n) {
    make_room(n);
    return buffer_.data() + n_;
  }
  void grow(std::size_t n) { n_ += n; }

  /// Gives the vector what is left.
  void flush() {
    out_.insert(out_.end(), buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(n_));
    n_ = 0;
  }

 private:
  static constexpr std::size_t kSize = 4096;

  void make_room(std::size_t n) {
    if (n_ + n > kSize) flush();
  }
  std::vector<std::uint32_t>& out_;
  std::size_t n_ = 0;
  std::array<std::uint32_t, kSize> buffer_;
};

}  // namespace ml
