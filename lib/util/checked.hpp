#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

namespace ml {

/// Unsigned arithmetic that remembers an overflow: `(Checked(rows) * cols + 63).get()` is empty after one.
class Checked {
 public:
  constexpr Checked(std::uint64_t value) : value_(value) {}

  constexpr Checked operator*(Checked other) const {
    Checked result(0);
    result.overflow_ =
        __builtin_mul_overflow(value_, other.value_, &result.value_) || overflow_ || other.overflow_;
    return result;
  }
  constexpr Checked operator+(Checked other) const {
    Checked result(0);
    result.overflow_ =
        __builtin_add_overflow(value_, other.value_, &result.value_) || overflow_ || other.overflow_;
    return result;
  }
  constexpr Checked round_up(std::uint64_t multiple) const {
    Checked sum = *this + Checked(multiple - 1);
    sum.value_ -= sum.value_ % multiple;
    return sum;
  }

  constexpr bool overflowed() const { return overflow_; }
  constexpr std::optional<std::uint64_t> get() const {
    return overflow_ ? std::nullopt : std::optional<std::uint64_t>(value_);
  }

 private:
  std::uint64_t value_;
  bool overflow_ = false;
};

/// Elements of a vector of T, which takes a narrower number than 64 bits on some machines and another
/// exception for too many. Throws std::bad_alloc where no memory holds so many.
template <class T>
std::size_t vector_size(Checked n) {
  const auto n_bytes = (n * sizeof(T)).get();
  if (!n_bytes || *n_bytes > PTRDIFF_MAX) throw std::bad_alloc();
  return static_cast<std::size_t>(*n_bytes / sizeof(T));
}

}  // namespace ml
