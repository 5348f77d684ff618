#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ml {

/// The bytes of a whole logit file by its beginning; nothing where that does not say it.
std::optional<std::uint64_t> logits_file_bytes(std::span<const std::byte> start);

}  // namespace ml
