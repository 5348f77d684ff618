#include "catch.hpp"
#include "data.hpp"
#include "documented_rules.hpp"

#include "formats/mlt.hpp"
#include "util/bytes.hpp"

using ml::MltContents;
using ml::Status;
using ml::TokenAttr;
using ml::TokenizerKind;

namespace {

using Bytes = std::vector<std::byte>;

MltContents byte_level() {
  MltContents contents;
  for (const char* text : {"a", "b", "ab", "", "abab"}) contents.tokens.push_back(TokenAttr::normal, text);
  contents.tokens.push_back(TokenAttr::added, "<s>");
  contents.merges = {{0, 1, 2}, {2, 2, 4}};
  contents.bos = 5;
  contents.flags = ml::kMltBos;
  return contents;
}

MltContents sentencepiece() {
  MltContents contents;
  contents.kind = TokenizerKind::sentencepiece;
  for (const char* text : {"\xE2\x96\x81", "a",
                           "\xE2\x96\x81"
                           "a"})
    contents.tokens.push_back(TokenAttr::normal, text);
  contents.tokens.push_back(TokenAttr::byte, "\n");
  contents.tokens.push_back(TokenAttr::byte, "\xFF");
  contents.merges = {{0, 1, 2}};
  return contents;
}

Bytes written(const MltContents& contents) {
  auto bytes = ml::write_mlt(contents);
  if (!bytes) FAIL(ml::describe(bytes.error()));
  return *bytes;
}

template <class T>
Bytes with(Bytes bytes, std::size_t offset, T value) {
  ml::store_le(bytes.data() + offset, value);
  return bytes;
}

// @param defect  of mlt(5), VALIDATION
void check_refused(DocumentedRules& rules, const char* defect, const Bytes& bytes, std::uint64_t offset,
                   const std::string& word) {
  const auto contents = ml::read_mlt(bytes);
  REQUIRE_FALSE(contents);
  rules.met(defect, ml::describe(contents.error()));
  CHECK(contents.error().status == Status::format);
  INFO(ml::describe(contents.error()));
  CHECK(contents.error().offset == offset);
  CHECK(contents.error().message.find(word) != std::string::npos);
}

// Rules that each join `a` and `b`, `n_bytes` together, one for each time.
MltContents long_rules(std::size_t n_bytes, std::size_t n_rules) {
  MltContents contents;
  const std::string a(n_bytes / 2, 'a'), b(n_bytes / 2, 'b');
  for (const std::string& text : {a, b, a + b}) contents.tokens.push_back(TokenAttr::normal, text);
  contents.merges.assign(n_rules, {0, 1, 2});
  return contents;
}

// Success, or one line with an offset inside the file.
void check_clear(const Bytes& bytes) {
  const auto contents = ml::read_mlt(bytes);
  if (contents) return;
  CHECK(contents.error().status == Status::format);
  CHECK(contents.error().offset.value_or(UINT64_MAX) <= bytes.size());
  CHECK_FALSE(contents.error().message.empty());
  CHECK(contents.error().message.find('\n') == std::string::npos);
}

void check_header(DocumentedRules& rules) {
  const Bytes good = written(byte_level());
  check_refused(rules, "the file is empty", {}, 0, "empty");
  check_refused(rules, "the magic is not MLT1", with(good, 0, 'X'), 0, "magic");
  check_refused(rules, "the version is not 1", with(good, 4, 2), 4, "version is 2");
  check_refused(rules, "kind is neither 1 nor 2", with(good, 8, 0), 8, "kind is 0");
  check_refused(rules, "kind is neither 1 nor 2", with(good, 8, 3), 8, "kind is 3");
  check_refused(rules, "n_vocab is out of range", with(good, 12, 0), 12, "n_vocab is 0");
  check_refused(rules, "n_vocab is out of range", with(good, 12, (1u << 24) + 1), 12, "n_vocab is 16777217");
  check_refused(rules, "the file is too short for the counts of tokens and rules", with(good, 12, 1u << 24),
                12, "too many tokens");
  check_refused(rules, "the file is too short for the counts of tokens and rules", with(good, 16, UINT32_MAX),
                16, "too many rules");
  check_refused(rules, "bos or eos is neither -1 nor below n_vocab", with(good, 20, 6), 20, "bos is 6");
  check_refused(rules, "bos or eos is neither -1 nor below n_vocab", with(good, 20, -2), 20, "bos is -2");
  check_refused(rules, "a flag prepends bos, and there is none", with(good, 20, -1), 20,
                "where flag 1 prepends it");
  check_refused(rules, "bos or eos is neither -1 nor below n_vocab", with(good, 24, INT32_MIN), 24,
                "eos is -2147483648");
}

void check_flags(DocumentedRules& rules) {
  const Bytes kind1 = written(sentencepiece());
  const Bytes kind2 = written(byte_level());
  for (const std::uint32_t flags :
       {0u, 1u, 2u, 8u, 16u, 24u, 32u, 64u, 96u, 128u, 144u, 131072u, 262144u, 127u - 36 - 16}) {
    CHECK(ml::read_mlt(with(kind2, 28, flags)));
  }
  for (const std::uint32_t flags : {0u, 2u, 4u, 65536u}) CHECK(ml::read_mlt(with(kind1, 28, flags)));
  for (const std::uint32_t flags : {8u, 16u, 32u, 64u, 128u, 131072u, 262144u}) {
    check_refused(rules, "a flag is of the other kind", with(kind1, 28, flags), 28,
                  "which kind 1 does not have");
  }
  for (const std::uint32_t flags : {4u, 65536u})
    check_refused(rules, "a flag is of the other kind", with(kind2, 28, flags), 28,
                  "which kind 2 does not have");
  for (const std::uint32_t flags : {48u, 160u, 32u + 131072, 16u + 131072, 262144u + 64, 131072u + 262144}) {
    check_refused(rules, "flags exclude each other", with(kind2, 28, flags), 28, "excludes");
  }
  check_refused(rules, "flags exclude each other", with(kind1, 28, 4u + 65536), 28, "excludes");
  for (int bit = 0; bit < 32; ++bit) {
    const bool known = bit < 8 || (bit >= 16 && bit <= 18);
    if (!known) check_refused(rules, "a flag is unknown", with(kind2, 28, 1u << bit), 28, "unknown bit");
  }
  CHECK(ml::tokenizer_flag_names(1 | 4 | 65536) ==
        std::vector<std::string>{"bos", "prefix_first", "no_prefix"});
}

void check_tokens(DocumentedRules& rules) {
  const Bytes kind1 = written(sentencepiece());
  const Bytes kind2 = written(byte_level());
  const std::size_t first = 32;
  check_refused(rules, "an attr is above 2", with(kind2, first, std::uint8_t(3)), first,
                "token 0: attr is 3");
  check_refused(rules, "a byte token in kind 2", with(kind2, first, std::uint8_t(2)), first,
                "kind 2 does not have");
  check_refused(rules, "the file ends early", with(kind2, first + 1, 1u << 31), first + 1,
                "token 0: len is 2147483648");
  // Token 3 is a hole behind a, b and ab.
  check_refused(rules, "an added token has no bytes", with(kind2, first + 6 + 6 + 7, std::uint8_t(1)),
                first + 20, "added token has no bytes");
  check_refused(rules, "a byte token does not have one byte", with(kind1, first, std::uint8_t(2)), first + 1,
                "has 3 bytes, must have one");
  check_refused(rules, "bytes of attr 0 or 1 in kind 1 are not UTF-8",
                with(kind1, first + 6, std::uint8_t(0xFF)), first + 5, "must be UTF-8");
  const std::size_t last_byte = first + 8 + 6 + 9 + 6 + 5;
  check_refused(rules, "a byte has two tokens", with(kind1, last_byte, '\n'), last_byte,
                "second token of byte 0x0a");
}

void check_merge_rules(DocumentedRules& rules) {
  const Bytes good = written(byte_level());
  const std::size_t last = good.size() - 12;
  check_refused(rules, "a rule's id is not below n_vocab", with(good, last, 6u), last, "merge 1: left is 6");
  check_refused(rules, "a rule's id is not below n_vocab", with(good, last + 4, UINT32_MAX), last + 4,
                "merge 1: right is 4294967295");
  check_refused(rules, "a rule's id is not below n_vocab", with(good, last + 8, 6u), last + 8,
                "merge 1: merged is 6");
  check_refused(rules, "a part of a rule has no bytes", with(good, last, 3u), last, "a token without bytes");
  check_refused(rules, "a rule's merged bytes are not left and right joined", with(good, last + 8, 2u),
                last + 8, "joined");
  check_refused(rules, "a rule's merged bytes are not left and right joined", with(good, last, 0u), last + 8,
                "joined");
  constexpr std::size_t kBytes = 1 << 18, kMost = (std::size_t(1) << 30) / kBytes;
  Bytes many = written(long_rules(kBytes, kMost));
  const std::size_t end = many.size();
  many = with(many, 16, static_cast<std::uint32_t>(kMost + 1));
  const Bytes rule(many.end() - 12, many.end());
  many.insert(many.end(), rule.begin(), rule.end());
  const auto refused = ml::read_mlt(many);
  REQUIRE_FALSE(refused);
  rules.met("the merged bytes of all rules, those of repeated rules included, are over 1 GiB",
            ml::describe(refused.error()));
  CHECK(refused.error().offset == end);
  CHECK(refused.error().message ==
        "merge 4096: the rules up to here join 1074003968 bytes, may join 1073741824 at most");
  CHECK_FALSE(ml::write_mlt(long_rules(kBytes, kMost + 1)));
  Bytes longer = good;
  longer.push_back({});
  check_refused(rules, "bytes follow the last rule", longer, good.size(),
                "1 bytes after the last merge rule");
}

}  // namespace

TEST_CASE("a .mlt comes back as it was written", "[mlt]") {
  for (const MltContents& source : {byte_level(), sentencepiece()}) {
    const Bytes bytes = written(source);
    const auto contents = ml::read_mlt(bytes);
    REQUIRE(contents);
    CHECK(contents->kind == source.kind);
    CHECK(contents->flags == source.flags);
    CHECK(contents->bos == source.bos);
    CHECK(contents->eos == -1);
    REQUIRE(contents->tokens.size() == source.tokens.size());
    for (std::uint32_t id = 0; id < source.tokens.size(); ++id) {
      CHECK(contents->tokens.attr(id) == source.tokens.attr(id));
      CHECK(contents->tokens.bytes(id) == source.tokens.bytes(id));
    }
    REQUIRE(contents->merges.size() == source.merges.size());
    CHECK(contents->merges.back().merged == source.merges.back().merged);
    CHECK(written(*contents) == bytes);
  }
}

TEST_CASE("every defect of a .mlt is refused, and the manual lists it", "[mlt]") {
  DocumentedRules rules("mlt");
  check_header(rules);
  check_flags(rules);
  check_tokens(rules);
  check_merge_rules(rules);
  rules.check_all_met();
}

TEST_CASE("a check of a .mlt goes on after a defect, within bounds", "[mlt]") {
  const auto check = [](const Bytes& bytes) {
    ml::DefectList defects;
    auto contents = ml::read_mlt(bytes, &defects);
    if (!contents) defects.add(std::move(contents.error()));
    auto all = defects.take();
    const auto first = ml::read_mlt(bytes);
    CHECK(static_cast<bool>(first) == all.empty());
    if (!first) {
      REQUIRE_FALSE(all.empty());
      CHECK(ml::describe(first.error()) == ml::describe(all.front()));
    }
    return all;
  };
  MltContents contents{.kind = TokenizerKind::sentencepiece};
  for (const char* text : {"a", "b", "ab", "c"}) contents.tokens.push_back(TokenAttr::normal, text);
  contents.merges = {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}};
  const Bytes good = written(contents);
  CHECK(check(good).empty());
  const std::size_t rules = 32 + 4 * 5 + 5;
  REQUIRE(good.size() == rules + 36);
  // bos, eos, an unknown flag, two tokens, two rules, a byte at the end.
  Bytes bad = with(with(with(good, 20, 9), 24, -3), 28, 1u << 31);
  bad = with(with(bad, 32, '\x03'), 32 + 6 + 6 + 7 + 5, '\xff');
  bad = with(with(bad, rules, 7u), rules + 24 + 8, 3u);
  bad.push_back({});
  const auto defects = check(bad);
  REQUIRE(defects.size() == 8);
  CHECK(defects[0].offset == 20u);
  CHECK(defects[1].offset == 24u);
  CHECK(defects[2].offset == 28u);
  CHECK(defects[3].message == "token 0: attr is 3, must be 0, 1 or 2");
  CHECK(defects[4].message == "token 3: bytes of kind 1 must be UTF-8");
  CHECK(defects[5].message == "merge 0: left is 7, must be below n_vocab, 4");
  CHECK(defects[6].offset == rules + 32);
  CHECK(defects[7].message.find("after the last merge rule") != std::string::npos);
  // Flags that exclude each other are one defect; a wrong kind or n_vocab leaves the body without a meaning.
  CHECK(check(with(good, 28, std::uint32_t{ml::kMltPrefixFirst | ml::kMltNoPrefix})).size() == 1);
  CHECK(check(with(with(good, 8, 3), 20, 9)).size() == 2);
  CHECK(check(with(with(good, 12, 0), 8, 3)).size() == 2);
  CHECK(check(with(good, 33, 1000u)).size() == 1);

  contents.merges.assign(5000, {0, 1, 3});
  Bytes many = written({.kind = TokenizerKind::sentencepiece, .tokens = contents.tokens});
  many = with(many, 16, 5000u);
  for (int i = 0; i < 5000; ++i) {
    for (const std::uint32_t id : {0u, 1u, 3u}) {
      many.resize(many.size() + 4);
      ml::store_le(many.data() + many.size() - 4, id);
    }
  }
  const auto flood = check(many);
  REQUIRE(flood.size() == 1001);
  CHECK(flood.back().message == "4000 more defects");

  // Long rules that fail at their last byte are compared no longer than sound ones.
  constexpr std::uint32_t kBytes = 1 << 20, kRules = 4000;
  MltContents tokens;
  const std::string a(kBytes / 2, 'a');
  for (const std::string& text : {a, a, a + a.substr(1) + 'b'})
    tokens.tokens.push_back(TokenAttr::normal, text);
  Bytes slow = with(written(tokens), 16, kRules);
  const std::size_t begin = slow.size();
  slow.resize(begin + 12 * kRules);
  for (std::uint32_t i = 0; i < kRules; ++i) {
    ml::store_le(slow.data() + begin + 12 * i + 4, 1u);
    ml::store_le(slow.data() + begin + 12 * i + 8, 2u);
  }
  const auto limited = check(slow);
  REQUIRE(limited.size() == 1001);
  CHECK(limited.back().message == "26 more defects");
}

TEST_CASE("a writer refuses what a reader would", "[mlt]") {
  MltContents contents = byte_level();
  contents.merges[0].merged = 4;
  CHECK_FALSE(ml::write_mlt(contents));
  contents = byte_level();
  contents.flags = 4;
  CHECK_FALSE(ml::write_mlt(contents));
  contents = byte_level();
  contents.tokens.push_back(TokenAttr::byte, "x");
  CHECK_FALSE(ml::write_mlt(contents));
  CHECK_FALSE(ml::write_mlt(MltContents()));
}

TEST_CASE("every truncation of a .mlt is refused", "[mlt]") {
  for (const Bytes& good : {written(byte_level()), written(sentencepiece())}) {
    for (std::size_t n = 0; n < good.size(); ++n) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK_FALSE(ml::read_mlt(cut));
      check_clear(cut);
    }
  }
}

TEST_CASE("every byte of a .mlt set to odd values is read or refused clearly", "[mlt]") {
  for (const Bytes& good : {written(byte_level()), written(sentencepiece())}) {
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (const int value : {0, 1, 2, 127, 128, 255})
        check_clear(with(good, at, static_cast<std::uint8_t>(value)));
    }
  }
}
