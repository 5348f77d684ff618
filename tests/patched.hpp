#pragma once

#include "util/bytes.hpp"

#include <cstddef>
#include <string>

/// The bytes of a file with a number of it changed.
template <class T>
std::string patched(std::string bytes, std::size_t at, T value) {
  char stored[sizeof value];
  ml::store_le(stored, value);
  for (std::size_t i = 0; i < sizeof stored; ++i) bytes.at(at + i) = stored[i];
  return bytes;
}
