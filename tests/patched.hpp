#pragma once

#include "util/bytes.hpp"

#include <cstddef>
#include <string>

/// The bytes of a file with a number of it changed.
template <class T>
std::string patched(std::string bytes, std::size_t at, T value) {
  ml::store_le(bytes.data() + at, value);
  return bytes;
}
