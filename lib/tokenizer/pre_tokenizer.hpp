#pragma once

#include "tokenizer/ascii_spans.hpp"

#include <ml/target.hpp>

#include <cstdint>
#include <optional>

namespace ml {

/// @return where the part ends that begins at `at` (at < end; well-formed UTF-8; end is the end of the text)
using Scan = const char* (*)(const char* at, const char* end);

/// Cuts text into the pieces that byte-level BPE works on. The patterns are those of mlt(5), PRE-TOKENIZERS,
/// written as scanners: each takes time linear in the text, whatever the text is.
struct PreTokenizer {
  Scan stretch = nullptr;  ///< cuts the text first; each stretch is then a text of its own. Null: no such cut
  Scan piece = nullptr;    ///< cuts a stretch into pieces
  spans::Pattern ascii = spans::kPatterns;  ///< the shortcut for ASCII; kPatterns: none
};

/// @param flags  of a .mlt of kind 2 that passed its checks
PreTokenizer pre_tokenizer_for(std::uint32_t flags);

/// @return the shortcut that the target runs, or null
spans::Find ascii_spans_for(spans::Pattern pattern, Target target);

}  // namespace ml
