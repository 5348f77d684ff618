#pragma once

#include <string_view>

namespace ml {

/// What stands for a space in SentencePiece-style vocabularies: U+2581.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

}  // namespace ml
