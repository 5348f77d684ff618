#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cli {

/// Numbers with commas between: "128,512". @return nothing where the text is something else
std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view text);

}  // namespace cli
