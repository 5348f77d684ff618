#pragma once

// Hashes of what files hold. With a fixed hash a file could be made of names that all share one value, and a
// table of them would take the square of their number. So each process draws a seed: no result may depend on
// a hash, or on the order in which a table of them is walked.

#include "util/random_bits.hpp"

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ml {

/// The seed of this process.
inline std::uint64_t hash_seed() {
  static const std::uint64_t seed = random_bits();
  return seed;
}

/// XXH3-64 of a text with a seed. (It is not noexcept: the standard's tables store such hashes, and compare
/// them before the texts.)
struct TextHash {
  using is_transparent = void;
  std::uint64_t seed = hash_seed();

  std::size_t operator()(std::string_view text) const {
    return static_cast<std::size_t>(XXH3_64bits_withSeed(text.data(), text.size(), seed));
  }
};

/// Of a number; the upper bits are the best ones. Both factors come from the seed, so that nobody knows which
/// numbers meet.
class NumberHash {
 public:
  NumberHash() : NumberHash(hash_seed()) {}
  explicit NumberHash(std::uint64_t seed)
      : first_(seed | 1), second_(XXH3_64bits_withSeed(&seed, sizeof seed, seed) | 1) {}

  std::uint64_t operator()(std::uint64_t number) const noexcept {
    const std::uint64_t mixed = number * first_;
    return (mixed ^ mixed >> 32) * second_;
  }

 private:
  std::uint64_t first_;
  std::uint64_t second_;
};

/// By text, which the table does not keep alive unless Key is std::string.
template <class Value, class Key = std::string_view>
using TextMap = std::unordered_map<Key, Value, TextHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string_view, TextHash, std::equal_to<>>;

}  // namespace ml
