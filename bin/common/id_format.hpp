#pragma once

#include <ml/status.hpp>
#include <ml/tokenizer.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Appends token ids as mlt-encode(1) writes them; nothing where they cannot be.
///
/// @param format  ids: decimal, blanks between, a line; jsonl: {"ids": [...]}, a line; pieces: each token's
///                bytes in quotes, a line; u16, u32: raw, little-endian
/// @error limit   an id that 16 bits do not hold
ml::Result<void> append_ids(std::string& out, std::span<const std::uint32_t> ids, const std::string& format,
                            const ml::Tokenizer& tokenizer);

/// The inverse; blanks, commas and newlines separate decimal ids.
///
/// @error format  offset is the first wrong byte of `text`
ml::Result<std::vector<std::uint32_t>> parse_ids(std::string_view text, const std::string& format);

/// Byte at which id number `index` of such a text begins.
std::size_t offset_of_id(std::string_view text, const std::string& format, std::size_t index);

/// @return {"text": ...} and a newline
std::string json_text_line(const std::string& text);

}  // namespace cli
