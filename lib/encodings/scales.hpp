#pragma once

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include "kernels/quant_table.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace ml {

/// Scale number `index` of a quantized tensor, counted over all its rows. F16 scales widen exactly.
inline float load_scale(const TensorView& view, std::uint64_t index) {
  return view.scale_type == ScaleType::f16
             ? f16_to_f32(load_le<std::uint16_t>(view.scales.data() + 2 * index))
             : load_le<float>(view.scales.data() + 4 * index);
}

/// Stores scales one after the other; d becomes what is stored.
///
/// @return  the first scale that overflows f16
std::optional<std::uint64_t> store_scales(const kernels::QuantTable& table, std::span<float> d,
                                          ScaleType type, std::byte* stored);

/// What is said of a scale that overflows f16, or of one in f32 with which a weight does: status limit.
///
/// @param group  where it is, as in "row 3, block 4"
Error scale_overflow(ScaleType type, std::string_view group);

}  // namespace ml
