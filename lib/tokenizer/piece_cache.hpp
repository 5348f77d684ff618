#pragma once

#include "util/aligned_buffer.hpp"
#include "util/bytes.hpp"

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ml {

/// Remembers the tokens of pieces of up to 16 bytes. Most text repeats few pieces: nineteen of twenty are
/// found here. A set of two is a cache line; a full one forgets the older piece.
class PieceCache {
 public:
  static constexpr std::size_t kMaxBytes = 16;
  static constexpr std::size_t kInline = 3;
  static constexpr std::uint32_t kNoPiece = UINT32_MAX;

  /// The bytes of a piece as two numbers; equal lengths and numbers mean equal pieces.
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint32_t n_bytes = kNoPiece;  ///< kNoPiece: no entry holds it
    std::uint32_t set = 0;
  };

  /// @param bytes  kMaxBytes of them may be read, the first n_bytes (1 to kMaxBytes) are the piece
  static Key key_of(const char* bytes, std::size_t n_bytes) {
    const Mask& mask = kMasks[n_bytes];
    const std::uint64_t low = load_le<std::uint64_t>(bytes) & mask[0];
    const std::uint64_t high = load_le<std::uint64_t>(bytes + 8) & mask[1];
    return {low, high, static_cast<std::uint32_t>(n_bytes), set_of(low, high, n_bytes)};
  }

  struct Entry {
    std::uint64_t low;
    std::uint64_t high;
    // The tokens where there are at most kInline, else where they begin; behind them the numbers of the
    // piece's bytes (0: the entry is free) and tokens.
    std::array<std::uint32_t, kInline + 1> words;

    std::uint32_t n_bytes() const { return words[kInline] & 0xFF; }
    std::uint32_t n_tokens() const { return words[kInline] >> 8; }
    bool holds(const Key& key) const {
      return ((low ^ key.low) | (high ^ key.high) | (n_bytes() ^ key.n_bytes)) == 0;
    }
  };
  static_assert(sizeof(Entry) == 32);

  /// Memory that runs out is std::bad_alloc, as it is where ids are appended.
  PieceCache() {
    auto sets = AlignedBuffer<Set>::allocate(std::uint64_t(1) << kSetBits);
    if (!sets) throw std::bad_alloc();
    sets_ = std::move(*sets);
  }

  void prefetch(const Key& key) const { __builtin_prefetch(&sets_.data()[key.set]); }

  /// Much text is to come: most of the memory will be used.
  void expect_much() {
    if (!std::exchange(expects_much_, true)) sets_.use_large_pages();
  }

  /// @return null where the piece is not remembered
  const Entry* find(const Key& key) const {
    const Set& set = sets_.data()[key.set];
    if (set[0].holds(key)) [[likely]]
      return &set[0];
    return set[1].holds(key) ? &set[1] : nullptr;
  }

  std::span<const std::uint32_t> tokens(const Entry& entry) const {
    if (entry.n_tokens() <= kInline) return std::span(entry.words).first(entry.n_tokens());
    return std::span(more_).subspan(entry.words[0], entry.n_tokens());
  }

  void insert(const Key& key, std::span<const std::uint32_t> tokens) {
    Set& set = sets_.data()[key.set];
    set[1] = set[0];
    Entry& entry = set[0];
    entry.low = key.low;
    entry.high = key.high;
    entry.words[kInline] = key.n_bytes | static_cast<std::uint32_t>(tokens.size()) << 8;
    if (tokens.size() <= kInline) {
      for (std::size_t i = 0; i < tokens.size(); ++i) entry.words[i] = tokens[i];
      return;
    }
    if (more_.size() > kMaxMore) return forget();
    entry.words[0] = static_cast<std::uint32_t>(more_.size());
    more_.insert(more_.end(), tokens.begin(), tokens.end());
  }

 private:
  using Set = std::array<Entry, 2>;
  static constexpr int kSetBits = 17;
  static constexpr std::size_t kMaxMore = std::size_t(1) << 20;

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

  static std::uint32_t set_of(std::uint64_t low, std::uint64_t high, std::uint64_t n_bytes) {
    const std::uint64_t mixed = (low + n_bytes) * 0x9E3779B97F4A7C15u ^ high * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<std::uint32_t>((mixed ^ mixed >> 32) * 0xBF58476D1CE4E5B9u >> (64 - kSetBits));
  }

  void forget() {
    for (std::size_t i = 0; i < sets_.size(); ++i) sets_.data()[i] = {};
    more_.clear();
  }

  AlignedBuffer<Set> sets_;
  bool expects_much_ = false;
  std::vector<std::uint32_t> more_;
};

}  // namespace ml
