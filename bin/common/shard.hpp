#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

/// One of several equal parts of a job.
struct Shard {
  std::uint64_t index = 0;  ///< from 0
  std::uint64_t n = 1;
};

/// @param text  "K/N" with K from 1 to N
/// @return      nothing for another text
std::optional<Shard> parse_shard(const std::string& text);

}  // namespace cli
