#include "common/number_list.hpp"

#include <charconv>
#include <system_error>

namespace cli {

std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  for (;; ++at) {
    const auto [after, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || (after != end && *after != ',')) return std::nullopt;
    at = after;
    if (at == end) return numbers;
  }
}

}  // namespace cli
