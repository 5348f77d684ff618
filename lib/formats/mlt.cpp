#include "formats/mlt.hpp"

#include "util/bytes.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <array>

// A .mlt, all little-endian, nothing aligned (mlt(5)):
//
//     0  char[4]  "MLT1"
//     4  u32      version, 1
//     8  u32      kind: 1 SentencePiece-style, 2 byte-level
//    12  u32      n_vocab
//    16  u32      n_merges
//    20  i32      BOS id or -1
//    24  i32      EOS id or -1
//    28  u32      flags
//    32  n_vocab tokens:   u8 attr, u32 len, len bytes
//     .  n_merges rules:   u32 left, u32 right, u32 merged, in rank order
//
// and nothing after the last rule.

namespace ml {

namespace {

constexpr std::string_view kMagic = "MLT1";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::uint64_t kMaxReserve = 64u << 20;  // bytes of text made room for before they are there
constexpr std::size_t kTokenBytes = 5;            // before the token's own bytes
constexpr std::size_t kMergeBytes = 12;
constexpr std::size_t kKindAt = 8, kVocabAt = 12, kMergesAt = 16, kBosAt = 20, kEosAt = 24, kFlagsAt = 28;

struct FlagRow {
  std::uint32_t bit;
  std::uint32_t kinds;     // bit k - 1: allowed in kind k
  std::uint32_t excludes;  // flags that make no sense beside it
  std::string_view name;
};

constexpr std::uint32_t kPatterns = kMltGpt2 | kMltO200k | kMltDeepSeek;

constexpr std::array<FlagRow, 11> kFlags = {{
    {kMltBos, 3, 0, "bos"},
    {kMltIgnoreMerges, 3, 0, "ignore_merges"},
    {kMltPrefixFirst, 1, kMltNoPrefix, "prefix_first"},
    {kMltNfc, 2, 0, "nfc"},
    {kMltSingleDigits, 2, kPatterns, "single_digits"},
    {kMltGpt2, 2, kMltO200k | kMltDeepSeek | kMltSingleDigits | kMltMarks, "gpt2"},
    {kMltSplitDigits, 2, kMltDeepSeek, "split_digits"},
    {kMltMarks, 2, kPatterns, "marks"},
    {kMltNoPrefix, 1, kMltPrefixFirst, "no_prefix"},
    {kMltO200k, 2, kMltGpt2 | kMltDeepSeek | kMltSingleDigits | kMltMarks, "o200k"},
    {kMltDeepSeek, 2, kMltGpt2 | kMltO200k | kMltSingleDigits | kMltMarks | kMltSplitDigits, "deepseek"},
}};

Error bad(std::uint64_t offset, std::string message) {
  return {Status::format, std::move(message), {}, offset};
}

Result<void> check_flags(std::uint32_t kind, std::uint32_t flags) {
  std::uint32_t known = 0;
  for (const FlagRow& row : kFlags) {
    known |= row.bit;
    if ((flags & row.bit) == 0) continue;
    if ((row.kinds >> (kind - 1) & 1) == 0) {
      return bad(kFlagsAt,
                 fmt::format("flags have bit {} ({}), which kind {} does not have", row.bit, row.name, kind));
    }
    if (const std::uint32_t both = flags & row.excludes) {
      return bad(kFlagsAt, fmt::format("flags have bit {} ({}) beside bit {}, which excludes it", row.bit,
                                       row.name, both & -both));
    }
  }
  if (const std::uint32_t unknown = flags & ~known) {
    return bad(kFlagsAt,
               fmt::format("flags are {:#x}, have the unknown bit {:#x}", flags, unknown & -unknown));
  }
  return {};
}

Result<void> check_id(std::string_view name, std::int32_t id, std::uint32_t n_vocab, std::size_t offset) {
  if (id >= -1 && (id == -1 || static_cast<std::uint32_t>(id) < n_vocab)) return {};
  return bad(offset, fmt::format("{} is {}, must be -1 or below n_vocab, {}", name, id, n_vocab));
}

// What the counts, flags and ids of a header must satisfy; the same for reading and writing.
Result<void> check_header(const MltContents& contents, std::uint32_t n_vocab) {
  const auto kind = static_cast<std::uint32_t>(contents.kind);
  if (kind != 1 && kind != 2) return bad(kKindAt, fmt::format("kind is {}, must be 1 or 2", kind));
  if (n_vocab == 0 || n_vocab > kMltMaxVocab) {
    return bad(kVocabAt, fmt::format("n_vocab is {}, must be 1 to {}", n_vocab, kMltMaxVocab));
  }
  ML_CHECK(check_id("bos", contents.bos, n_vocab, kBosAt));
  ML_CHECK(check_id("eos", contents.eos, n_vocab, kEosAt));
  ML_CHECK(check_flags(kind, contents.flags));
  if ((contents.flags & kMltBos) && contents.bos == -1) {
    return bad(kBosAt, "bos is -1, must be an id where flag 1 prepends it");
  }
  return {};
}

// Checks tokens one after the other; offsets are those of the token's attr, len and bytes.
class TokenChecker {
 public:
  explicit TokenChecker(TokenizerKind kind) : kind_(kind) {}

  Result<void> check(std::uint32_t id, std::uint8_t attr, std::string_view bytes, std::uint64_t offset) {
    const std::uint64_t bytes_at = offset + kTokenBytes;
    const bool sentencepiece = kind_ == TokenizerKind::sentencepiece;
    if (attr > 2) return bad(offset, fmt::format("token {}: attr is {}, must be 0, 1 or 2", id, attr));
    if (attr == 1 && bytes.empty())
      return bad(offset + 1, fmt::format("token {}: an added token has no bytes", id));
    if (attr == 2) return check_byte(id, bytes, offset);
    if (sentencepiece) {
      if (const auto wrong = find_invalid_utf8_byte(bytes)) {
        return bad(bytes_at + *wrong, fmt::format("token {}: bytes of kind 1 must be UTF-8", id));
      }
    }
    return {};
  }

 private:
  Result<void> check_byte(std::uint32_t id, std::string_view bytes, std::uint64_t offset) {
    if (kind_ != TokenizerKind::sentencepiece) {
      return bad(offset, fmt::format("token {}: attr is 2, which kind 2 does not have", id));
    }
    if (bytes.size() != 1) {
      return bad(offset + 1,
                 fmt::format("token {}: a byte token has {} bytes, must have one", id, bytes.size()));
    }
    bool& seen = seen_[static_cast<unsigned char>(bytes[0])];
    if (seen) {
      return bad(offset + kTokenBytes, fmt::format("token {}: a second token of byte {:#04x}", id,
                                                   static_cast<unsigned char>(bytes[0])));
    }
    seen = true;
    return {};
  }

  TokenizerKind kind_;
  std::array<bool, 256> seen_ = {};
};

// What is wrong with a rule.
Error describe_merge(const MltTokens& tokens, std::size_t rank, MltMerge merge, std::uint64_t offset) {
  const std::array<std::pair<std::string_view, std::uint32_t>, 3> parts = {
      {{"left", merge.left}, {"right", merge.right}, {"merged", merge.merged}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [name, id] = parts[i];
    if (id >= tokens.size()) {
      return bad(offset + 4 * i,
                 fmt::format("merge {}: {} is {}, must be below n_vocab, {}", rank, name, id, tokens.size()));
    }
    if (tokens.bytes(id).empty()) {
      return bad(offset + 4 * i, fmt::format("merge {}: {} is {}, a token without bytes", rank, name, id));
    }
  }
  return bad(offset + 8,
             fmt::format("merge {}: merged is token {}, whose bytes are not those of {} and {} joined", rank,
                         merge.merged, merge.left, merge.right));
}

template <class T>
void append_le(std::vector<std::byte>& out, T value) {
  std::array<std::byte, sizeof value> bytes;
  store_le(bytes.data(), value);
  for (const std::byte byte : bytes) out.push_back(byte);
}

}  // namespace

std::vector<std::string> tokenizer_flag_names(std::uint32_t flags) {
  std::vector<std::string> names;
  for (const FlagRow& row : kFlags) {
    if (flags & row.bit) names.emplace_back(row.name);
  }
  return names;
}

bool is_mlt(std::span<const std::byte> bytes) { return as_text(bytes).starts_with(kMagic); }

Result<MltContents> read_mlt(std::span<const std::byte> bytes) {
  if (bytes.empty()) return bad(0, "the file is empty");
  if (bytes.size() >= kMagic.size() && !is_mlt(bytes)) return bad(0, "magic is not \"MLT1\"");
  if (bytes.size() < kHeaderBytes) {
    return bad(bytes.size(), fmt::format("the file ends inside the header of {} bytes", kHeaderBytes));
  }
  const auto u32 = [&](std::uint64_t at) { return load_le<std::uint32_t>(bytes.data() + at); };
  if (u32(4) != 1) return bad(4, fmt::format("version is {}, must be 1", u32(4)));

  MltContents contents;
  contents.kind = static_cast<TokenizerKind>(u32(kKindAt));
  contents.bos = static_cast<std::int32_t>(u32(kBosAt));
  contents.eos = static_cast<std::int32_t>(u32(kEosAt));
  contents.flags = u32(kFlagsAt);
  const std::uint32_t n_vocab = u32(kVocabAt);
  const std::uint32_t n_merges = u32(kMergesAt);
  ML_CHECK(check_header(contents, n_vocab));
  const std::uint64_t body = bytes.size() - kHeaderBytes;
  if (n_vocab * std::uint64_t(kTokenBytes) > body) {
    return bad(kVocabAt, fmt::format("n_vocab is {}, too many tokens for the {} bytes after the header",
                                     n_vocab, body));
  }
  if (n_vocab * std::uint64_t(kTokenBytes) + n_merges * std::uint64_t(kMergeBytes) > body) {
    return bad(kMergesAt, fmt::format("n_merges is {}, too many rules for the {} bytes after the header",
                                      n_merges, body));
  }

  std::uint64_t at = kHeaderBytes;
  TokenChecker checker(contents.kind);
  contents.tokens.reserve(n_vocab, static_cast<std::size_t>(std::min(kMaxReserve, body)));
  for (std::uint32_t id = 0; id < n_vocab; ++id) {
    if (bytes.size() - at < kTokenBytes)
      return bad(bytes.size(), fmt::format("the file ends inside token {}", id));
    const auto attr = static_cast<std::uint8_t>(bytes[at]);
    const std::uint32_t len = u32(at + 1);
    if (len > bytes.size() - at - kTokenBytes) {
      return bad(at + 1, fmt::format("token {}: len is {}, but {} bytes are left", id, len,
                                     bytes.size() - at - kTokenBytes));
    }
    const std::string_view token = as_text(bytes.subspan(at + kTokenBytes, len));
    ML_CHECK(checker.check(id, attr, token, at));
    contents.tokens.push_back(static_cast<TokenAttr>(attr), token);
    at += kTokenBytes + len;
  }

  const std::uint64_t merge_bytes = n_merges * std::uint64_t(kMergeBytes);
  if (bytes.size() - at < merge_bytes) {
    return bad(bytes.size(),
               fmt::format("the file ends inside the merge rules, which need {} bytes", merge_bytes));
  }
  contents.merges.reserve(n_merges);
  for (std::uint32_t rank = 0; rank < n_merges; ++rank, at += kMergeBytes) {
    const MltMerge merge = {u32(at), u32(at + 4), u32(at + 8)};
    if (!contents.tokens.joins(merge.left, merge.right, merge.merged)) {
      return describe_merge(contents.tokens, rank, merge, at);
    }
    contents.merges.push_back(merge);
  }
  if (at != bytes.size())
    return bad(at, fmt::format("{} bytes after the last merge rule", bytes.size() - at));
  return contents;
}

Result<std::vector<std::byte>> write_mlt(const MltContents& contents) {
  const MltTokens& tokens = contents.tokens;
  ML_CHECK(check_header(contents, tokens.size()));
  std::vector<std::byte> out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  append_le(out, std::uint32_t(1));
  append_le(out, static_cast<std::uint32_t>(contents.kind));
  append_le(out, tokens.size());
  append_le(out, static_cast<std::uint32_t>(contents.merges.size()));
  append_le(out, contents.bos);
  append_le(out, contents.eos);
  append_le(out, contents.flags);
  TokenChecker checker(contents.kind);
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    const auto attr = static_cast<std::uint8_t>(tokens.attr(id));
    const std::string_view bytes = tokens.bytes(id);
    ML_CHECK(checker.check(id, attr, bytes, out.size()));
    out.push_back(static_cast<std::byte>(attr));
    append_le(out, static_cast<std::uint32_t>(bytes.size()));
    for (const char c : bytes) out.push_back(static_cast<std::byte>(c));
  }
  for (std::size_t rank = 0; rank < contents.merges.size(); ++rank) {
    const MltMerge merge = contents.merges[rank];
    if (!tokens.joins(merge.left, merge.right, merge.merged)) {
      return describe_merge(tokens, rank, merge, out.size());
    }
    append_le(out, merge.left);
    append_le(out, merge.right);
    append_le(out, merge.merged);
  }
  return out;
}

}  // namespace ml
