#include "encodings/scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ml {

std::optional<std::uint64_t> store_scales(const kernels::QuantTable& table, std::span<float> d,
                                          ScaleType type, std::byte* stored) {
  if (type == ScaleType::f32) {
    store_le(stored, d);
    return std::nullopt;
  }
  std::array<std::uint16_t, 256> halves;
  for (std::size_t i = 0; i < d.size(); i += halves.size()) {
    const std::size_t n = std::min(halves.size(), d.size() - i);
    table.to_f16(d.data() + i, n, halves.data());
    std::memcpy(stored + 2 * i, halves.data(), 2 * n);
    table.widen_f16(reinterpret_cast<const unsigned char*>(halves.data()), n, d.data() + i);
  }
  const auto bad = std::find_if(d.begin(), d.end(), [](float scale) { return std::isinf(scale); });
  return bad == d.end() ? std::nullopt : std::optional<std::uint64_t>(bad - d.begin());
}

Error scale_overflow(ScaleType type, std::string_view group) {
  const char* const what = type == ScaleType::f16
                               ? "scale of {} is over 65504 and cannot be stored as f16"
                               : "weights of {} are so large that quant x scale overflows f32";
  return {.status = Status::limit, .message = fmt::format(fmt::runtime(what), group)};
}

}  // namespace ml
