#pragma once

// The tokenizer section of a .mog (mog(5), TOKENIZER), all little-endian, offsets from its start:
//
//    0  u32 x 3  kind, n_vocab, n_merges
//   12  i32 x 2  bos, eos
//   20  u32 x 3  flags, bytes of the text, zero
//   32  u32[n_vocab + 1]   where the text of each token begins, and the end
//    .  u8[n_vocab]        attr of each token, padded with zeros to 4 bytes
//    .  u32[n_vocab]       ids by the bytes of their texts, equal texts by id
//    .  u32[4][n_merges]   left, right, merged, rank; by left, right, rank
//    .  the text

#include "formats/defect_list.hpp"
#include "formats/mlt.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace ml {

/// A tokenizer where it lies, searched without tables.
class MogTokens {
 public:
  /// Reads and checks a whole section.
  ///
  /// @param defects  not null: goes on after a defect, which goes there, as far as the rest can be found; the
  ///                 result is then sound only if none was added
  /// @error format  offset is the first wrong byte, in the section
  /// @error limit   the merge rules join more than MltMergeChecker::kMaxJoined bytes
  /// @cost          a pass over it; memory of a bit for each merge, and of two numbers for each repeated text
  static Result<MogTokens> read(std::span<const std::byte> section, DefectList* defects = nullptr);

  /// Kind, flags, ids and tokens; the merges stay where they are.
  const MltContents& contents() const { return contents_; }
  std::uint32_t n_merges() const { return n_merges_; }

  /// The id at a place in the order of the texts.
  std::uint32_t sorted(std::uint32_t place) const {
    return load_le<std::uint32_t>(sorted_ + 4 * std::size_t(place));
  }
  /// @return the first place in that order of an id whose bytes these are
  std::optional<std::uint32_t> find(std::string_view bytes) const;

  /// Places in that order whose ids have equal texts.
  struct Equals {
    std::uint32_t begin;
    std::uint32_t end;
  };
  /// Those of each text that two ids or more have, in order; the text without bytes is not among them.
  const std::vector<Equals>& repeated() const { return repeated_; }

  struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t merged;
    std::uint32_t rank;
  };
  /// Merge number `index` in the order of the file.
  Merge merge(std::uint32_t index) const {
    std::array<std::uint32_t, 4> words;
    load_le(merges_ + sizeof words * std::size_t(index), std::span<std::uint32_t>(words));
    return {words[0], words[1], words[2], words[3]};
  }
  /// @return the merge of a pair, of the lowest rank
  std::optional<Merge> find_merge(std::uint32_t left, std::uint32_t right) const;

 private:
  MogTokens() = default;
  Result<void> check_starts(std::span<const std::byte> section, DefectList* defects) const;
  Result<void> check_tokens(std::span<const std::byte> section, DefectList* defects) const;
  Result<void> check_order(std::span<const std::byte> section, DefectList* defects);
  void note_equal(std::uint32_t place);
  Result<void> check_merges(std::span<const std::byte> section, DefectList* defects) const;

  MltContents contents_;
  std::uint32_t n_merges_ = 0;
  const std::byte* sorted_ = nullptr;
  const std::byte* merges_ = nullptr;
  std::vector<Equals> repeated_;
};

/// The bytes of a section.
///
/// @error format  the contents break a rule of .mlt
/// @error limit   the text is over 4 GiB, or the contents are beyond a limit of .mlt
Result<std::vector<std::byte>> write_mog_tokenizer(const MltContents& contents);

}  // namespace ml
