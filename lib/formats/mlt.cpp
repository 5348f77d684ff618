#include "formats/mlt.hpp"

#include "formats/mlt_rules.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

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

Error bad(std::uint64_t offset, std::string message) {
  return {Status::format, std::move(message), {}, offset};
}

template <class T>
void append_le(std::vector<std::byte>& out, T value) {
  std::array<std::byte, sizeof value> bytes;
  store_le(bytes.data(), value);
  for (const std::byte byte : bytes) out.push_back(byte);
}

}  // namespace

bool is_mlt(std::span<const std::byte> bytes) { return as_text(bytes).starts_with(kMagic); }

Result<MltContents> read_mlt(std::span<const std::byte> bytes, DefectList* defects) {
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
  ML_CHECK(check_mlt_header(contents, n_vocab, defects));
  if (!mlt_body_is_clear(contents, n_vocab)) return contents;
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
  MltTokenChecker checker(contents.kind);
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
    if (auto sound = checker.check(id, attr, token, at); !sound) {
      if (defects == nullptr) return std::move(sound.error());
      defects->add(std::move(sound.error()));
    }
    contents.tokens.push_back(static_cast<TokenAttr>(attr), token);
    at += kTokenBytes + len;
  }

  const std::uint64_t merge_bytes = n_merges * std::uint64_t(kMergeBytes);
  if (bytes.size() - at < merge_bytes) {
    return bad(bytes.size(),
               fmt::format("the file ends inside the merge rules, which need {} bytes", merge_bytes));
  }
  contents.merges.reserve(n_merges);
  MltMergeChecker merge_checker(contents.tokens);
  for (std::uint32_t rank = 0; rank < n_merges; ++rank, at += kMergeBytes) {
    const MltMerge merge = {u32(at), u32(at + 4), u32(at + 8)};
    if (!merge_checker.check(merge)) {
      if (defects == nullptr) return merge_checker.describe(rank, merge, at);
      defects->add_made([&] { return merge_checker.describe(rank, merge, at); });
      if (!merge_checker.pass_over(merge)) return contents;
    }
    contents.merges.push_back(merge);
  }
  if (at != bytes.size())
    return bad(at, fmt::format("{} bytes after the last merge rule", bytes.size() - at));
  return contents;
}

Result<std::vector<std::byte>> write_mlt(const MltContents& contents) {
  const MltTokens& tokens = contents.tokens;
  ML_CHECK(check_mlt_header(contents, tokens.size()));
  std::vector<std::byte> out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  append_le(out, std::uint32_t(1));
  append_le(out, static_cast<std::uint32_t>(contents.kind));
  append_le(out, tokens.size());
  append_le(out, static_cast<std::uint32_t>(contents.merges.size()));
  append_le(out, contents.bos);
  append_le(out, contents.eos);
  append_le(out, contents.flags);
  MltTokenChecker checker(contents.kind);
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    const auto attr = static_cast<std::uint8_t>(tokens.attr(id));
    const std::string_view bytes = tokens.bytes(id);
    ML_CHECK(checker.check(id, attr, bytes, out.size()));
    out.push_back(static_cast<std::byte>(attr));
    append_le(out, static_cast<std::uint32_t>(bytes.size()));
    for (const char c : bytes) out.push_back(static_cast<std::byte>(c));
  }
  MltMergeChecker merge_checker(tokens);
  for (std::size_t rank = 0; rank < contents.merges.size(); ++rank) {
    const MltMerge merge = contents.merges[rank];
    if (!merge_checker.check(merge)) return merge_checker.describe(rank, merge, out.size());
    append_le(out, merge.left);
    append_le(out, merge.right);
    append_le(out, merge.merged);
  }
  return out;
}

}  // namespace ml
