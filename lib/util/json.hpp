#pragma once

#include <ml/status.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ml {

/// Containers inside each other that parse_json accepts.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// Values of one JSON text: 4 bytes of text can make a value of 64, and no file of a model needs so many.
inline constexpr std::size_t kMaxJsonValues = std::size_t(1) << 22;

/// @error limit  more than kMaxJsonValues; `n` counts with this one
Result<void> count_json_value(std::size_t& n);

/// @error format  a NUL, which the library takes for the end of the text
Result<void> refuse_nul(std::string_view text);

/// Parses one JSON text, more strictly than the library does: a key that an object holds twice, nesting over
/// kMaxJsonDepth and more than kMaxJsonValues are refused. No exception leaves it.
///
/// @error format  not JSON, not UTF-8, a number beyond double; offset is counted from the start of `text`
/// @error limit   nested too deeply, too many values
Result<nlohmann::json> parse_json(std::string_view text);

/// The same with the keys of objects in the order of the text. Looking for one takes the time of all.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text);

/// A key that the object lacks, without looking whether it does. @return its value, null
nlohmann::ordered_json& append_key(nlohmann::ordered_json::object_t& object, const std::string& key);

/// A value as messages show it: compact JSON, cut off where it grows long.
std::string show_json(const nlohmann::json& value);

}  // namespace ml
