#pragma once

#include "util/bytes.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace ml {

/// Where a text may be cut before BPE: between two bytes that stand side by side in no token that a merge
/// rule makes. No rule ever joins what is left and right of such a place, so the parts merge alone as they
/// would together. Spaces are U+0020 here, and no character is cut.
class WordCuts {
 public:
  /// Nothing may be cut before continuation bytes.
  WordCuts() {
    for (std::size_t i = 4 * 0x80; i < 4 * 0xC0; ++i) joins_[i] = ~std::uint64_t(0);
  }

  /// Keeps the bytes of a token together.
  void join(std::string_view token) {
    for (std::size_t i = 1; i < token.size(); ++i) {
      const std::size_t pair = pair_of(token[i - 1], token[i]);
      joins_[pair / 64] |= std::uint64_t(1) << pair % 64;
    }
  }

  /// Forbids every cut.
  void join_all() { joins_.fill(~std::uint64_t(0)); }

  bool joins(char left, char right) const {
    const std::size_t pair = pair_of(left, right);
    return joins_[pair / 64] >> pair % 64 & 1;
  }

  /// @return bit i: the text may be cut before at[i]; at[-1] to at[63] are there
  std::uint64_t cuts64(const char* at) const {
    std::uint64_t kept = 0;
    for (int i = 63; i >= 0; --i) {
      const std::size_t pair = load_le<std::uint16_t>(at + i - 1);
      kept = 2 * kept + (joins_[pair / 64] >> pair % 64 & 1);
    }
    return ~kept;
  }

 private:
  static std::size_t pair_of(char left, char right) {
    return static_cast<unsigned char>(left) | std::size_t(static_cast<unsigned char>(right)) << 8;
  }

  std::array<std::uint64_t, 1024> joins_ = {};
};

}  // namespace ml
