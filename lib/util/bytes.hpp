#pragma once

#include <ml/little_endian.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace ml {

/// Whether numbers lie in memory as in files, so that files can be used where they are mapped.
inline constexpr bool kLittleEndian = std::endian::native == std::endian::little;

/// Turns n numbers of `size` bytes from little-endian to the order of this machine, or back.
inline void order_le([[maybe_unused]] void* numbers, [[maybe_unused]] std::size_t size,
                     [[maybe_unused]] std::size_t n) {
  if constexpr (!kLittleEndian) {
    auto* bytes = static_cast<std::byte*>(numbers);
    for (; n > 0; --n, bytes += size) std::reverse(bytes, bytes + size);
  }
}

/// Reads little-endian numbers from unaligned bytes. The caller has checked that they are there.
template <class T>
void load_le(const void* bytes, std::span<T> numbers) {
  static_assert(std::is_arithmetic_v<T>);
  if (numbers.empty()) return;
  std::memcpy(numbers.data(), bytes, numbers.size_bytes());
  order_le(numbers.data(), sizeof(T), numbers.size());
}
template <class T>
T load_le(const void* bytes) {
  static_assert(std::is_arithmetic_v<T>);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  order_le(&value, sizeof value, 1);
  return value;
}

/// Writes little-endian numbers to unaligned bytes.
template <class T>
void store_le(void* bytes, std::span<T> numbers) {
  static_assert(std::is_arithmetic_v<T>);
  if (numbers.empty()) return;
  std::memcpy(bytes, numbers.data(), numbers.size_bytes());
  order_le(bytes, sizeof(T), numbers.size());
}
template <class T>
requires std::is_arithmetic_v<T>
void store_le(void* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
  order_le(bytes, sizeof value, 1);
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ml
