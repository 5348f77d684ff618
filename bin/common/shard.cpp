#include "common/shard.hpp"

#include <charconv>

namespace cli {

std::optional<Shard> parse_shard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, shard.index);
  if (error != std::errc() || slash == end || *slash != '/') return {};
  const auto [after, error_after] = std::from_chars(slash + 1, end, shard.n);
  if (error_after != std::errc() || after != end || shard.index < 1 || shard.index > shard.n) return {};
  --shard.index;
  return shard;
}

}  // namespace cli
