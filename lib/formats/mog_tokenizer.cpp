#include "formats/mog_tokenizer.hpp"

#include "formats/mlt_rules.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace ml {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kHeaderBytes = 32;
constexpr std::uint64_t kMergeBytes = 16;
constexpr std::uint64_t kMltShift = 8;  // the counts of a .mlt stand that far behind those of a section
constexpr std::uint64_t kVocabAt = 4, kTextAt = 24, kZeroAt = 28;

Error bad(std::uint64_t offset, std::string message) {
  return {.status = Status::format, .message = std::move(message), .offset = offset};
}

struct Places {
  std::uint64_t starts, attrs, sorted, merges, text, end;
};

// The counts are at most 2^32: nothing overflows.
Places places_of(std::uint64_t n_vocab, std::uint64_t n_merges, std::uint64_t n_text) {
  Places places{};
  places.starts = kHeaderBytes;
  places.attrs = places.starts + 4 * (n_vocab + 1);
  places.sorted = places.attrs + (n_vocab + 3) / 4 * 4;
  places.merges = places.sorted + 4 * n_vocab;
  places.text = places.merges + kMergeBytes * n_merges;
  places.end = places.text + n_text;
  return places;
}

Places places_of(Bytes section) {
  const auto u32 = [&](std::uint64_t at) { return load_le<std::uint32_t>(section.data() + at); };
  return places_of(u32(kVocabAt), u32(8), u32(kTextAt));
}

// A defect ends the check, or is kept where all are wanted.
template <class Make>
Result<void> pass(DefectList* defects, const Make& make) {
  if (defects == nullptr) return make();
  defects->add_made(make);
  return {};
}

template <class T>
void put(std::vector<std::byte>& out, std::uint64_t at, T value) {
  store_le(out.data() + at, value);
}

}  // namespace

Result<MogTokens> MogTokens::read(Bytes section, DefectList* defects) {
  if (section.size() < kHeaderBytes) {
    return bad(section.size(),
               fmt::format("section is {} bytes, its header needs {}", section.size(), kHeaderBytes));
  }
  const auto u32 = [&](std::uint64_t at) { return load_le<std::uint32_t>(section.data() + at); };
  MogTokens tokens;
  MltContents& contents = tokens.contents_;
  contents.kind = static_cast<TokenizerKind>(u32(0));
  contents.bos = static_cast<std::int32_t>(u32(12));
  contents.eos = static_cast<std::int32_t>(u32(16));
  contents.flags = u32(20);
  const std::uint32_t n_vocab = u32(kVocabAt);
  tokens.n_merges_ = u32(8);
  DefectList of_header;
  ML_CHECK(check_mlt_header(contents, n_vocab, &of_header));
  for (Error& error : of_header.take()) {
    error.offset = error.offset.value_or(kMltShift) - kMltShift;
    if (defects == nullptr) return std::move(error);
    defects->add(std::move(error));
  }
  if (u32(kZeroAt) != 0) {
    ML_CHECK(pass(defects, [&] {
      return bad(kZeroAt, fmt::format("last word of the header is {}, must be 0", u32(kZeroAt)));
    }));
  }
  if (!mlt_body_is_clear(contents, n_vocab)) return tokens;
  const Places places = places_of(section);
  if (places.end != section.size()) {
    return bad(kVocabAt,
               fmt::format("section is {} bytes, but {} tokens, {} merges and {} bytes of text take {}",
                           section.size(), n_vocab, tokens.n_merges_, u32(kTextAt), places.end));
  }
  DefectList of_starts;
  if (auto ok = tokens.check_starts(section, defects != nullptr ? &of_starts : nullptr); !ok)
    return std::move(ok.error());
  if (!of_starts.empty()) {  // what the texts are is not known
    for (Error& error : of_starts.take()) defects->add(std::move(error));
    return tokens;
  }
  contents.tokens = MltTokens(section.subspan(places.starts, 4 * (n_vocab + std::uint64_t(1))),
                              section.subspan(places.attrs, n_vocab), as_text(section.subspan(places.text)));
  tokens.sorted_ = section.data() + places.sorted;
  tokens.merges_ = section.data() + places.merges;
  ML_CHECK(tokens.check_tokens(section, defects));
  ML_CHECK(tokens.check_order(section, defects));
  ML_CHECK(tokens.check_merges(section, defects));
  return tokens;
}

Result<void> MogTokens::check_starts(Bytes section, DefectList* defects) const {
  const Places places = places_of(section);
  const auto u32 = [&](std::uint64_t at) { return load_le<std::uint32_t>(section.data() + at); };
  const std::uint64_t n_vocab = u32(kVocabAt);
  const std::uint32_t n_text = u32(kTextAt);
  std::uint32_t before = 0;
  for (std::uint64_t i = 0; i <= n_vocab; ++i) {
    const std::uint32_t start = u32(places.starts + 4 * i);
    if (start < before || start > n_text || (i == 0 && start != 0) || (i == n_vocab && start != n_text)) {
      ML_CHECK(pass(defects, [&] {
        return bad(places.starts + 4 * i,
                   fmt::format("text of token {} begins at {}, must go up from 0 to {}", i, start, n_text));
      }));
      if (start > n_text) continue;  // the next ones may be right
    }
    before = start;
  }
  return {};
}

Result<void> MogTokens::check_tokens(Bytes section, DefectList* defects) const {
  const Places places = places_of(section);
  MltTokenChecker checker(contents_.kind);
  const MltTokens& tokens = contents_.tokens;
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    auto ok =
        checker.check(id, static_cast<std::uint8_t>(tokens.attr(id)), tokens.bytes(id), places.attrs + id);
    if (ok) continue;
    ok.error().offset = places.attrs + id;
    ML_CHECK(pass(defects, [&] { return std::move(ok.error()); }));
  }
  for (std::uint64_t at = places.attrs + tokens.size(); at < places.sorted; ++at) {
    if (section[at] == std::byte{0}) continue;
    return pass(defects, [&] { return bad(at, "padding after the attrs is not zero"); });
  }
  return {};
}

Result<void> MogTokens::check_order(Bytes section, DefectList* defects) {
  const Places places = places_of(section);
  const MltTokens& tokens = contents_.tokens;
  // Where a check goes on, ids that come again are not compared: two long texts could be very often.
  std::vector<bool> seen(defects != nullptr ? tokens.size() : 0);
  std::uint32_t before = 0;  // of the last place that is no defect by itself
  bool first = true;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    const std::uint64_t at = places.sorted + 4 * std::uint64_t(i);
    const std::uint32_t id = sorted(i);
    if (id >= tokens.size()) {
      ML_CHECK(pass(defects, [&] {
        return bad(at, fmt::format("sorted id {} is {}, must be below n_vocab, {}", i, id, tokens.size()));
      }));
      continue;
    }
    if (defects != nullptr && seen[id]) {
      defects->add_made(
          [&] { return bad(at, fmt::format("sorted id {} is {}, for the second time", i, id)); });
      continue;
    }
    if (defects != nullptr) seen[id] = true;
    const std::uint32_t last = std::exchange(before, id);
    if (std::exchange(first, false)) continue;
    const int order = tokens.bytes(last).compare(tokens.bytes(id));
    if (order > 0 || (order == 0 && last >= id)) {
      ML_CHECK(pass(defects, [&] {
        return bad(at, fmt::format("sorted id {} is {}, whose text must come after that of {}", i, id, last));
      }));
      continue;
    }
    if (order == 0 && tokens.n_bytes(id) > 0) note_equal(i);
  }
  return {};
}

// @param place  of a text that the place before it has too
void MogTokens::note_equal(std::uint32_t place) {
  if (repeated_.empty() || repeated_.back().end != place) repeated_.push_back({place - 1, place});
  repeated_.back().end = place + 1;
}

Result<void> MogTokens::check_merges(Bytes section, DefectList* defects) const {
  const Places places = places_of(section);
  std::vector<bool> seen(n_merges_);
  MltMergeChecker checker(contents_.tokens);
  for (std::uint32_t i = 0; i < n_merges_; ++i) {
    const std::uint64_t at = places.merges + kMergeBytes * i;
    const Merge rule = merge(i);
    const MltMerge merge_rule = {rule.left, rule.right, rule.merged};
    if (!checker.check(merge_rule)) {
      ML_CHECK(pass(defects, [&] { return checker.describe(i, merge_rule, at); }));
      if (!checker.pass_over(merge_rule)) return {};
    }
    if (rule.rank >= n_merges_ || seen[rule.rank]) {
      ML_CHECK(pass(defects, [&] {
        return bad(at + 12, fmt::format("merge {}: rank is {}, must be one of its own below n_merges, {}", i,
                                        rule.rank, n_merges_));
      }));
    } else {
      seen[rule.rank] = true;
    }
    if (i == 0) continue;
    const Merge before = merge(i - 1);
    if (std::tie(before.left, before.right, before.rank) >= std::tie(rule.left, rule.right, rule.rank)) {
      ML_CHECK(pass(defects, [&] {
        return bad(at, fmt::format("merge {}: left {} and right {} must come after {} and {}", i, rule.left,
                                   rule.right, before.left, before.right));
      }));
    }
  }
  return {};
}

std::optional<std::uint32_t> MogTokens::find(std::string_view bytes) const {
  std::uint32_t first = 0;
  std::uint32_t last = contents_.tokens.size();
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (contents_.tokens.bytes(sorted(middle)) < bytes) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  const bool found = first < contents_.tokens.size() && contents_.tokens.bytes(sorted(first)) == bytes;
  return found ? std::optional(first) : std::nullopt;
}

std::optional<MogTokens::Merge> MogTokens::find_merge(std::uint32_t left, std::uint32_t right) const {
  std::uint32_t first = 0;
  std::uint32_t last = n_merges_;
  const std::uint64_t wanted = std::uint64_t(left) << 32 | right;
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    const Merge rule = merge(middle);
    if ((std::uint64_t(rule.left) << 32 | rule.right) < wanted) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == n_merges_) return std::nullopt;
  const Merge rule = merge(first);
  return rule.left == left && rule.right == right ? std::optional(rule) : std::nullopt;
}

Result<std::vector<std::byte>> write_mog_tokenizer(const MltContents& contents) {
  ML_CHECK(write_mlt(contents));  // all its rules
  const MltTokens& tokens = contents.tokens;
  const std::uint32_t n_vocab = tokens.size();
  std::uint64_t n_text = 0;
  for (std::uint32_t id = 0; id < n_vocab; ++id) n_text += tokens.bytes(id).size();
  if (n_text > UINT32_MAX) {
    return Error{.status = Status::limit,
                 .message = fmt::format("tokens have {} bytes, must be below 4 GiB", n_text)};
  }
  const Places places = places_of(n_vocab, contents.merges.size(), n_text);
  std::vector<std::byte> out(places.end);
  put(out, 0, static_cast<std::uint32_t>(contents.kind));
  put(out, kVocabAt, n_vocab);
  put(out, 8, static_cast<std::uint32_t>(contents.merges.size()));
  put(out, 12, contents.bos);
  put(out, 16, contents.eos);
  put(out, 20, contents.flags);
  put(out, kTextAt, static_cast<std::uint32_t>(n_text));
  std::uint32_t start = 0;
  for (std::uint32_t id = 0; id < n_vocab; ++id) {
    const std::string_view bytes = tokens.bytes(id);
    put(out, places.starts + 4 * std::uint64_t(id), start);
    out[places.attrs + id] = static_cast<std::byte>(tokens.attr(id));
    std::memcpy(out.data() + places.text + start, bytes.data(), bytes.size());
    start += static_cast<std::uint32_t>(bytes.size());
  }
  put(out, places.starts + 4 * std::uint64_t(n_vocab), start);
  std::vector<std::uint32_t> ids(n_vocab);
  std::iota(ids.begin(), ids.end(), 0u);
  std::sort(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int order = tokens.bytes(a).compare(tokens.bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  for (std::uint32_t i = 0; i < n_vocab; ++i) put(out, places.sorted + 4 * std::uint64_t(i), ids[i]);
  std::vector<MogTokens::Merge> merges;
  merges.reserve(contents.merges.size());
  for (std::uint32_t rank = 0; rank < contents.merges.size(); ++rank) {
    const MltMerge& merge = contents.merges[rank];
    merges.push_back({merge.left, merge.right, merge.merged, rank});
  }
  std::sort(merges.begin(), merges.end(), [](const auto& a, const auto& b) {
    return std::tie(a.left, a.right, a.rank) < std::tie(b.left, b.right, b.rank);
  });
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right, merged, rank] = merges[i];
    const std::array<const std::uint32_t, 4> words = {left, right, merged, rank};
    store_le(out.data() + places.merges + kMergeBytes * i, std::span<const std::uint32_t>(words));
  }
  return out;
}

}  // namespace ml
