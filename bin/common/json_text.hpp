#pragma once

#include <ml/status.hpp>

#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace cli {

/// Containers inside each other, and keys of one object, in the JSON that tools read.
inline constexpr std::size_t kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonKeys = 1024;

/// Parses one JSON text whose keys keep their order. What passes may be walked, compared and printed by
/// recursion, and its keys be looked for one by one.
///
/// @error format  not JSON, a number that no double holds: with the offset from the start of `text`; a key
///                that an object holds twice
/// @error limit   nested too deeply, an object with too many keys
ml::Result<nlohmann::ordered_json> parse_json(std::string_view text);

/// The values of a text of lines, each a JSON text or blank.
ml::Result<std::vector<nlohmann::ordered_json>> parse_json_lines(std::string_view text);

}  // namespace cli
