#include "tokenizer/nfc.hpp"

#include "tokenizer/unicode_tables.hpp"
#include "util/utf8.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace ml {

namespace {

// Hangul syllables compose and decompose by arithmetic (Unicode 16, 3.12).
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kFinals = 0x11A7;
constexpr char32_t kNLeads = 19, kNVowels = 21, kNFinals = 28, kNSyllables = kNLeads * kNVowels * kNFinals;

struct Char {
  char32_t cp;
  std::uint8_t combining;
};

std::uint8_t combining_class(char32_t cp) { return two_stage_value(kCombiningIndex, kCombiningData, cp); }

// True for a character that normalization may change or join with the one before it. A text without any is
// its own NFC form, and a text may be cut before every other character and its parts normalized alone.
bool unstable(char32_t cp) { return two_stage_value(kUnstableIndex, kUnstableData, cp) != 0; }

std::span<const char32_t> decomposition(char32_t cp) {
  const Decomposition* end = kDecompositions + kDecompositionCount;
  const Decomposition* row = std::lower_bound(kDecompositions, end, cp,
                                              [](const Decomposition& d, char32_t c) { return d.from < c; });
  if (row == end || row->from != cp) return {};
  return {kDecompositionData + row->begin, row->count};
}

void decompose(char32_t cp, std::vector<Char>& out) {
  if (cp >= kSyllables && cp < kSyllables + kNSyllables) {
    const char32_t index = cp - kSyllables;
    out.push_back({kLeads + index / (kNVowels * kNFinals), 0});
    out.push_back({kVowels + index / kNFinals % kNVowels, 0});
    if (index % kNFinals != 0) out.push_back({kFinals + index % kNFinals, 0});
    return;
  }
  const auto parts = decomposition(cp);
  if (parts.empty()) out.push_back({cp, combining_class(cp)});
  for (char32_t part : parts) out.push_back({part, combining_class(part)});
}

// @return the character that two make together, or 0
char32_t compose(char32_t first, char32_t second) {
  if (first >= kLeads && first < kLeads + kNLeads && second >= kVowels && second < kVowels + kNVowels) {
    return kSyllables + ((first - kLeads) * kNVowels + (second - kVowels)) * kNFinals;
  }
  if (first >= kSyllables && first < kSyllables + kNSyllables && (first - kSyllables) % kNFinals == 0 &&
      second > kFinals && second < kFinals + kNFinals) {
    return first + (second - kFinals);
  }
  const Composition* end = kCompositions + kCompositionCount;
  const Composition* row =
      std::lower_bound(kCompositions, end, std::pair(first, second),
                       [](const Composition& c, auto pair) { return std::pair(c.first, c.second) < pair; });
  return row != end && row->first == first && row->second == second ? row->to : 0;
}

// Sorts every run of marks by combining class, equal ones in their order.
void reorder(std::vector<Char>& chars) {
  const auto is_mark = [](const Char& c) { return c.combining != 0; };
  for (auto at = chars.begin(); at != chars.end();) {
    at = std::find_if(at, chars.end(), is_mark);
    const auto last = std::find_if_not(at, chars.end(), is_mark);
    std::stable_sort(at, last, [](const Char& a, const Char& b) { return a.combining < b.combining; });
    at = last;
  }
}

// Joins each character with the last starter unless one between them has its combining class or a higher one.
void recompose(std::vector<Char>& chars) {
  std::size_t n_kept = 0;
  std::size_t starter = SIZE_MAX;
  for (const Char c : chars) {
    if (starter != SIZE_MAX) {
      const bool adjacent = n_kept == starter + 1;
      const bool open =
          adjacent || (chars[n_kept - 1].combining != 0 && chars[n_kept - 1].combining < c.combining);
      if (const char32_t joined = open ? compose(chars[starter].cp, c.cp) : 0) {
        chars[starter] = {joined, combining_class(joined)};
        continue;
      }
    }
    if (c.combining == 0) starter = n_kept;
    chars[n_kept++] = c;
  }
  chars.resize(n_kept);
}

}  // namespace

std::string_view normalize_nfc(std::string_view text, std::string& scratch) {
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  const char* previous = at;  // where the last stable character begins: the first one of a changed segment
  const char* copied = at;    // all before it is in `scratch`
  std::vector<Char> chars;
  scratch.clear();
  while (at != end) {
    const char* const here = at;
    if (static_cast<signed char>(*at) >= 0) {
      at = skip_ascii(at + 1, end);
      previous = at - 1;
      continue;
    }
    if (static_cast<unsigned char>(*at) < 0xCC) {  // below U+0300 all is stable
      next_char(at);
      previous = here;
      continue;
    }
    if (!unstable(next_char(at))) {
      previous = here;
      continue;
    }
    scratch.append(copied, previous);
    chars.clear();
    for (at = previous; at != end;) {
      const char* const part = at;
      const char32_t cp = next_char(at);
      if (part > here && !unstable(cp)) {
        at = part;
        break;
      }
      decompose(cp, chars);
    }
    reorder(chars);
    recompose(chars);
    for (const Char c : chars) append_utf8(scratch, c.cp);
    copied = previous = at;
  }
  if (copied == text.data()) return text;
  scratch.append(copied, end);
  return scratch;
}

}  // namespace ml
