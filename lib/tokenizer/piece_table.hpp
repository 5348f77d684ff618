#pragma once

#include "formats/mlt.hpp"
#include "util/text_hash.hpp"

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ml {

/// Ids by the bytes of their tokens; it holds no bytes of its own, so every call names the tokens.
/// Open addressing, at most three quarters full.
class PieceTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  PieceTable() = default;
  explicit PieceTable(std::size_t n_pieces) : slots_(std::bit_ceil(n_pieces + n_pieces / 3 + 2), kNone) {}

  /// Adds one; the first id of equal bytes stays.
  void insert(const MltTokens& tokens, std::uint32_t id) {
    std::uint32_t& slot = slots_[find_slot(tokens, tokens.bytes(id))];
    if (slot == kNone) slot = id;
  }

  /// @return the id, or kNone
  std::uint32_t find(const MltTokens& tokens, std::string_view piece) const {
    return slots_.empty() ? kNone : slots_[find_slot(tokens, piece)];
  }

 private:
  std::size_t find_slot(const MltTokens& tokens, std::string_view piece) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash_(piece) & mask;
    while (slots_[i] != kNone && tokens.bytes(slots_[i]) != piece) i = (i + 1) & mask;
    return i;
  }

  TextHash hash_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace ml
