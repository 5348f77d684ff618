#pragma once

namespace ml::kernels {
namespace {

/// A number from a file's bytes, which are little-endian.
template <class T>
inline T load_stored(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  unsigned char turned[sizeof value];
  for (unsigned i = 0; i < sizeof value; ++i) {
    turned[i] = static_cast<const unsigned char*>(bytes)[sizeof value - 1 - i];
  }
  __builtin_memcpy(&value, turned, sizeof value);
#endif
  return value;
}

/// Floats in memory become as those of a file.
inline void to_stored([[maybe_unused]] float* x, [[maybe_unused]] unsigned n) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (unsigned i = 0; i < n; ++i) x[i] = load_stored<float>(x + i);
#endif
}

}  // namespace
}  // namespace ml::kernels
