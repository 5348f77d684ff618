#pragma once

#include <xxhash.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// Remembers the tokens of the pieces that PieceCache has no room for. When its memory is used up it forgets
/// all.
class LongPieceCache {
 public:
  static constexpr std::size_t kMaxBytes = 128;

  /// What find() learned about a piece, for insert().
  using Hash = std::uint64_t;
  static Hash hash_of(std::string_view piece) { return XXH3_64bits(piece.data(), piece.size()); }

  /// @return the tokens; empty where the piece is not remembered (or has none)
  std::span<const std::uint32_t> find(std::string_view piece, Hash hash) const {
    const Slot& slot = slots_[hash % kSlots];
    if (slot.hash != hash || std::string_view(text_).substr(slot.text, slot.n_bytes) != piece) return {};
    return std::span(ids_).subspan(slot.ids, slot.n_ids);
  }

  void insert(std::string_view piece, Hash hash, std::span<const std::uint32_t> ids) {
    if (text_.size() + piece.size() > kMaxTextBytes) *this = {};
    slots_[hash % kSlots] = {hash, static_cast<std::uint32_t>(text_.size()),
                             static_cast<std::uint32_t>(piece.size()),
                             static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(ids.size())};
    text_ += piece;
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }

 private:
  struct Slot {
    Hash hash = 0;
    std::uint32_t text = 0;
    std::uint32_t n_bytes = 0;
    std::uint32_t ids = 0;
    std::uint32_t n_ids = 0;
  };
  static constexpr std::size_t kSlots = std::size_t(1) << 15;
  static constexpr std::size_t kMaxTextBytes = std::size_t(1) << 22;

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::string text_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace ml
