#include "formats/mlt_rules.hpp"

#include "util/utf8.hpp"

#include <fmt/format.h>

#include <tuple>

namespace ml {

namespace {

constexpr std::size_t kTokenBytes = 5;  // before the token's own bytes
constexpr std::size_t kKindAt = 8, kVocabAt = 12, kBosAt = 20, kEosAt = 24, kFlagsAt = 28;

Error bad(std::uint64_t offset, std::string message) {
  return {Status::format, std::move(message), {}, offset};
}

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

std::vector<Error> flag_defects(std::uint32_t kind, std::uint32_t flags) {
  std::vector<Error> defects;
  std::uint32_t known = 0;
  for (const FlagRow& row : kFlags) {
    known |= row.bit;
    if ((flags & row.bit) == 0) continue;
    if ((row.kinds >> (kind - 1) & 1) == 0) {
      defects.push_back(bad(kFlagsAt, fmt::format("flags have bit {} ({}), which kind {} does not have",
                                                  row.bit, row.name, kind)));
      continue;
    }
    // Of a pair that excludes each other the first one says so.
    if (const std::uint32_t both = flags & row.excludes & ~known) {
      defects.push_back(bad(kFlagsAt, fmt::format("flags have bit {} ({}) beside bit {}, which excludes it",
                                                  row.bit, row.name, both & -both)));
    }
  }
  if (const std::uint32_t unknown = flags & ~known) {
    defects.push_back(
        bad(kFlagsAt, fmt::format("flags are {:#x}, have the unknown bit {:#x}", flags, unknown & -unknown)));
  }
  return defects;
}

Result<void> check_id(std::string_view name, std::int32_t id, std::uint32_t n_vocab, std::size_t offset) {
  if (id >= -1 && (id == -1 || static_cast<std::uint32_t>(id) < n_vocab)) return {};
  return bad(offset, fmt::format("{} is {}, must be -1 or below n_vocab, {}", name, id, n_vocab));
}

}  // namespace

bool mlt_body_is_clear(const MltContents& contents, std::uint32_t n_vocab) {
  const auto kind = static_cast<std::uint32_t>(contents.kind);
  return (kind == 1 || kind == 2) && n_vocab != 0 && n_vocab <= kMltMaxVocab;
}

Result<void> check_mlt_header(const MltContents& contents, std::uint32_t n_vocab, DefectList* defects) {
  std::vector<Error> found;
  const auto kind = static_cast<std::uint32_t>(contents.kind);
  const bool known_kind = kind == 1 || kind == 2;
  if (!known_kind) found.push_back(bad(kKindAt, fmt::format("kind is {}, must be 1 or 2", kind)));
  if (n_vocab == 0 || n_vocab > kMltMaxVocab) {
    found.push_back(bad(kVocabAt, fmt::format("n_vocab is {}, must be 1 to {}", n_vocab, kMltMaxVocab)));
  } else {
    for (const auto& [name, id, offset] :
         {std::tuple("bos", contents.bos, kBosAt), std::tuple("eos", contents.eos, kEosAt)}) {
      if (auto ok = check_id(name, id, n_vocab, offset); !ok) found.push_back(std::move(ok.error()));
    }
  }
  if (known_kind) {  // which says what flags mean
    for (Error& error : flag_defects(kind, contents.flags)) found.push_back(std::move(error));
  }
  if ((contents.flags & kMltBos) && contents.bos == -1)
    found.push_back(bad(kBosAt, "bos is -1, must be an id where flag 1 prepends it"));
  if (found.empty()) return {};
  if (defects == nullptr) return std::move(found.front());
  for (Error& error : found) defects->add(std::move(error));
  return {};
}

Result<void> MltTokenChecker::check(std::uint32_t id, std::uint8_t attr, std::string_view bytes,
                                    std::uint64_t offset) {
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

Result<void> MltTokenChecker::check_byte(std::uint32_t id, std::string_view bytes, std::uint64_t offset) {
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

Error MltMergeChecker::describe(std::size_t rank, MltMerge merge, std::uint64_t offset) const {
  const MltTokens& tokens = *tokens_;
  if (n_joined_ > kMaxJoined) {
    return {.status = Status::limit,
            .message = fmt::format("merge {}: the rules up to here join {} bytes, may join {} at most", rank,
                                   n_joined_, kMaxJoined),
            .offset = offset};
  }
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

std::vector<std::string> tokenizer_flag_names(std::uint32_t flags) {
  std::vector<std::string> names;
  for (const FlagRow& row : kFlags) {
    if (flags & row.bit) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace ml
