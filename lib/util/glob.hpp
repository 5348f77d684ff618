#pragma once

#include <string_view>

namespace ml {

/// True where all of `text` fits a pattern: `*` is any text, `?` any one byte, others are themselves. In time
/// |pattern| * |text| at worst.
inline bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t star = pattern.npos;
  std::size_t behind = 0;  // in text, what the last star has swallowed
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++behind;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ml
