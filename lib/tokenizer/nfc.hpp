#pragma once

#include <string>
#include <string_view>

namespace ml {

/// Unicode normalization form C with the character data of the `tokenizers` library, which is older than
/// Unicode's current data (characters that it does not know stay as they are).
///
/// @param text     well-formed UTF-8
/// @param scratch  holds the result where the text changes
/// @return         `text` itself, or a view of `scratch`
/// @cost           one pass where nothing changes
std::string_view normalize_nfc(std::string_view text, std::string& scratch);

}  // namespace ml
