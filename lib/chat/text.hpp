#pragma once

// Python's methods of str, over UTF-8. Where one needs tables of letters, text beyond ASCII is refused.

#include <ml/status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ml::chat {

/// What is said where a text would grow beyond the bytes that are left: status limit.
Error too_much_text();

enum class Side : std::uint8_t { both, left, right };

/// str.strip and its kin: white space, or the characters of `set`.
std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> set = {});

/// The first place of `part`, in linear time whatever the two are; npos where there is none.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from = 0);

/// str.split at white space, at most `max` times (< 0: always).
std::vector<std::string> split_blanks(std::string_view text, std::int64_t max);
/// str.split and str.rsplit at a separator, which must not be empty.
std::vector<std::string> split(std::string_view text, std::string_view separator, std::int64_t max);
std::vector<std::string> split_right(std::string_view text, std::string_view separator, std::int64_t max);

/// str.replace, at most `max` times (< 0: always).
/// @error limit  more than max_bytes
Result<std::string> replace(std::string_view text, std::string_view from, std::string_view to,
                            std::int64_t max, std::size_t max_bytes);

enum class Case : std::uint8_t { upper, lower, title, title_words, capitalize };

/// str.upper, lower, title, capitalize; title_words is the filter `title`, which knows other words.
/// @error unsupported  text beyond ASCII
Result<std::string> change_case(std::string_view text, Case how);

/// Number of characters.
std::size_t n_chars(std::string_view text);
/// The characters one by one.
std::vector<std::string_view> chars(std::string_view text);

}  // namespace ml::chat
