#pragma once

// What the parts of a tokenizer must satisfy (mlt(5), VALIDATION), wherever they are stored. Offsets of the
// counts, ids and flags are those of a .mlt.

#include "formats/mlt.hpp"

#include <array>

namespace ml {

/// @param contents  kind, flags, bos, eos
Result<void> check_mlt_header(const MltContents& contents, std::uint32_t n_vocab);

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

/// What is wrong with a rule whose parts MltTokens::joins() refuses.
///
/// @param offset  of the rule's left, right and merged
Error describe_mlt_merge(const MltTokens& tokens, std::size_t rank, MltMerge merge, std::uint64_t offset);

}  // namespace ml
