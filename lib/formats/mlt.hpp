#pragma once

#include <ml/tokenizer.hpp>

#include "formats/defect_list.hpp"
#include "util/bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// The tokens of a tokenizer: attributes and bytes, all bytes in one string. They are its own, or lie in the
/// tokenizer section of a .mog (mog(5), TOKENIZER) that outlives it.
class MltTokens {
 public:
  MltTokens() = default;
  /// @param starts  u32 of each token and of the end, little-endian; in order, none above the text's size
  MltTokens(std::span<const std::byte> starts, std::span<const std::byte> attrs, std::string_view text)
      : starts_(starts.data()), mapped_attrs_(attrs), mapped_text_(text) {}

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(starts_ != nullptr ? mapped_attrs_.size() : attrs_.size());
  }
  TokenAttr attr(std::uint32_t id) const {
    return starts_ != nullptr ? static_cast<TokenAttr>(mapped_attrs_[id]) : attrs_[id];
  }
  std::string_view bytes(std::uint32_t id) const { return text().substr(begin_of(id), n_bytes(id)); }

  /// Copies the bytes of a token to `out` in blocks of 16 where that is possible: `out` has room for 16 more.
  /// @return the end of the copy
  char* copy(std::uint32_t id, char* out) const {
    const std::uint64_t begin = begin_of(id);
    const std::uint64_t n = n_bytes(id);
    if (n <= 16 && text().size() - begin >= 16) [[likely]] {
      std::memcpy(out, text().data() + begin, 16);
    } else {
      std::memcpy(out, text().data() + begin, n);
    }
    return out + n;
  }
  std::uint64_t n_bytes(std::uint32_t id) const { return begin_of(id + 1) - begin_of(id); }

  /// @return whether the bytes of `merged` are those of `left` and `right` joined, none of them empty; ids
  /// past the tokens are not
  bool joins(std::uint32_t left, std::uint32_t right, std::uint32_t merged) const {
    if (std::max({left, right, merged}) >= size()) return false;
    const std::uint64_t n_left = n_bytes(left), n_right = n_bytes(right);
    if (n_left == 0 || n_right == 0 || n_left + n_right != n_bytes(merged)) return false;
    const char* const bytes = text().data();
    return same(bytes + begin_of(merged), bytes + begin_of(left), n_left) &&
           same(bytes + begin_of(merged) + n_left, bytes + begin_of(right), n_right);
  }

  void reserve(std::size_t n_tokens, std::size_t n_bytes) {
    attrs_.reserve(n_tokens);
    ends_.reserve(n_tokens + 1);
    text_.reserve(n_bytes);
  }
  void push_back(TokenAttr attr, std::string_view bytes) {
    attrs_.push_back(attr);
    text_ += bytes;
    ends_.push_back(text_.size());
  }

 private:
  std::string_view text() const { return starts_ != nullptr ? mapped_text_ : text_; }
  /// Where the bytes of a token begin in text(); of the id past the last one, where they end.
  std::uint64_t begin_of(std::uint32_t id) const {
    return starts_ != nullptr ? load_le<std::uint32_t>(starts_ + 4 * std::size_t(id)) : ends_[id];
  }
  bool same(const char* a, const char* b, std::uint64_t n) const {
    const std::string_view all = text();
    const char* const end = all.data() + all.size();
    if (n > 8 || end - a < 8 || end - b < 8) return std::memcmp(a, b, n) == 0;
    const std::uint64_t different = load_le<std::uint64_t>(a) ^ load_le<std::uint64_t>(b);
    return different << (64 - 8 * n) == 0;
  }

  std::string text_;
  std::vector<std::uint64_t> ends_ =
      std::vector<std::uint64_t>(1);  // [0], then the end of each token in text_
  std::vector<TokenAttr> attrs_;
  const std::byte* starts_ = nullptr;  // not null: the tokens are not our own
  std::span<const std::byte> mapped_attrs_;
  std::string_view mapped_text_;
};

struct MltMerge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t merged = 0;
};

/// All that a .mlt says.
struct MltContents {
  TokenizerKind kind = TokenizerKind::byte_level;
  std::uint32_t flags = 0;
  std::int32_t bos = -1;
  std::int32_t eos = -1;
  MltTokens tokens = {};
  std::vector<MltMerge> merges = {};  // in rank order
};

inline constexpr std::uint32_t kMltMaxVocab = 1u << 24;

/// Reads and checks a whole .mlt.
///
/// @param defects  not null: goes on after a defect, which goes there, as far as the rest can be found; the
///                 result is then sound only if none was added
/// @error format  offset is the first wrong byte
/// @error limit   the merge rules join more than MltMergeChecker::kMaxJoined bytes
/// @cost          memory of a small multiple of the bytes
/// @source        mlt(5), VALIDATION
Result<MltContents> read_mlt(std::span<const std::byte> bytes, DefectList* defects = nullptr);

/// The bytes of a .mlt. What it writes, read_mlt accepts.
///
/// @error format  the contents break a rule of the format
/// @error limit   as for read_mlt()
Result<std::vector<std::byte>> write_mlt(const MltContents& contents);

/// @return true where `bytes` begin as a .mlt does
bool is_mlt(std::span<const std::byte> bytes);

}  // namespace ml
