#pragma once

// What the parts of a tokenizer must satisfy (mlt(5), VALIDATION), wherever they are stored. Offsets of the
// counts, ids and flags are those of a .mlt.

#include "formats/defect_list.hpp"
#include "formats/mlt.hpp"

#include <array>

namespace ml {

/// @param contents  kind, flags, bos, eos
/// @param defects   not null: all defects go there, and the result is sound
Result<void> check_mlt_header(const MltContents& contents, std::uint32_t n_vocab,
                              DefectList* defects = nullptr);

/// @return whether what follows a header can be checked: its kind and n_vocab are sound
bool mlt_body_is_clear(const MltContents& contents, std::uint32_t n_vocab);

/// Checks tokens one after the other.
class MltTokenChecker {
 public:
  explicit MltTokenChecker(TokenizerKind kind) : kind_(kind) {}

  /// @param offset  of attr; len is one byte and the bytes are five behind it
  Result<void> check(std::uint32_t id, std::uint8_t attr, std::string_view bytes, std::uint64_t offset);

 private:
  Result<void> check_byte(std::uint32_t id, std::string_view bytes, std::uint64_t offset);

  TokenizerKind kind_;
  std::array<bool, 256> seen_ = {};
};

/// Checks merge rules one after the other.
class MltMergeChecker {
 public:
  /// Bytes of `merged` over all rules. Each of them is compared: a small file could list a long token very
  /// often. The largest vocabularies come to some megabytes.
  static constexpr std::uint64_t kMaxJoined = std::uint64_t(1) << 30;

  explicit MltMergeChecker(const MltTokens& tokens) : tokens_(&tokens) {}

  /// @return whether the rule is sound; describe() says what is wrong with one that is not
  bool check(MltMerge merge) {
    if (!tokens_->joins(merge.left, merge.right, merge.merged)) return false;
    n_joined_ += tokens_->n_bytes(merge.merged);
    return n_joined_ <= kMaxJoined;
  }

  /// @param merge   the last one of check()
  /// @param offset  of the rule's left, right and merged
  Error describe(std::size_t rank, MltMerge merge, std::uint64_t offset) const;

  /// Goes on after a rule that is not sound, and counts its bytes, which may have been compared.
  ///
  /// @return false where enough is compared, as describe() said
  bool pass_over(MltMerge merge) {
    if (n_joined_ > kMaxJoined) return false;
    if (merge.merged < tokens_->size()) n_joined_ += tokens_->n_bytes(merge.merged);
    return true;
  }

 private:
  const MltTokens* tokens_;
  std::uint64_t n_joined_ = 0;
};

}  // namespace ml
