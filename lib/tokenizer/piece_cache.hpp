#pragma once

#include "util/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ml {

/// Remembers the tokens of pieces of up to 16 bytes that become at most four tokens. Most text repeats few
/// pieces: nineteen of twenty are found here. A full set of two forgets the older one.
class PieceCache {
 public:
  static constexpr std::size_t kMaxBytes = 16;
  static constexpr std::size_t kMaxTokens = 4;

  /// The bytes of a piece as two numbers; equal lengths and keys mean equal pieces.
  struct Key {
    std::uint64_t low;
    std::uint64_t high;
    std::uint32_t n_bytes;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// @param piece  1 to kMaxBytes bytes
  /// @param limit  the end of the bytes that may be read behind the piece
  static Key key_of(std::string_view piece, const char* limit) {
    std::array<char, kMaxBytes> copy = {};
    const char* bytes = piece.data();
    if (limit - bytes < static_cast<std::ptrdiff_t>(kMaxBytes)) {
      std::memcpy(copy.data(), bytes, piece.size());
      bytes = copy.data();
    }
    const std::size_t n = piece.size();
    const Mask mask = kMasks[n];
    return {load_le<std::uint64_t>(bytes) & mask[0], load_le<std::uint64_t>(bytes + 8) & mask[1],
            static_cast<std::uint32_t>(n)};
  }

  /// @return the tokens; empty where the piece is not remembered (or has none)
  std::span<const std::uint32_t> find(const Key& key) const {
    const Set& set = sets_[index(key)];
    for (const Entry& entry : set) {
      if (entry.key == key) return {entry.tokens.data(), entry.n_tokens};
    }
    return {};
  }

  void insert(const Key& key, std::span<const std::uint32_t> tokens) {
    if (tokens.empty() || tokens.size() > kMaxTokens) return;
    Set& set = sets_[index(key)];
    set[1] = set[0];
    set[0].key = key;
    set[0].n_tokens = static_cast<std::uint32_t>(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) set[0].tokens[i] = tokens[i];
  }

 private:
  struct Entry {
    Key key = {};
    std::uint32_t n_tokens = 0;
    std::array<std::uint32_t, kMaxTokens> tokens = {};
  };
  using Set = std::array<Entry, 2>;
  static constexpr int kSetBits = 15;

  // What keeps the bytes of a piece of each length, without a branch that the processor would have to guess.
  using Mask = std::array<std::uint64_t, 2>;
  static constexpr std::array<Mask, kMaxBytes + 1> kMasks = [] {
    std::array<Mask, kMaxBytes + 1> masks = {};
    for (std::size_t n = 1; n <= kMaxBytes; ++n) {
      masks[n] = masks[n - 1];
      masks[n][(n - 1) / 8] |= std::uint64_t(0xFF) << 8 * ((n - 1) % 8);
    }
    return masks;
  }();

  static std::size_t index(const Key& key) {
    const std::uint64_t mixed =
        (key.low ^ key.n_bytes) * 0x9E3779B97F4A7C15u ^ key.high * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<std::size_t>((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u >> (64 - kSetBits));
  }

  std::vector<Set> sets_ = std::vector<Set>(std::size_t(1) << kSetBits);
};

}  // namespace ml
