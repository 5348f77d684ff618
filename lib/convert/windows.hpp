#pragma once

#include <ml/model.hpp>

#include "convert/config.hpp"

#include <cstdint>
#include <functional>

namespace ml {

/// Longest sliding window of mlb(5).
inline constexpr std::uint32_t kMaxWindow = 1u << 24;

/// Reads `layer_types` into a flag for each layer: true where it is `name`. Where the key is absent,
/// `fallback` decides.
///
/// @error format, unsupported  a list of another length, an unknown type; names the key
Result<std::vector<bool>> read_layer_types(const Config& config, std::size_t n_layers, std::string_view name,
                                           const std::function<bool(std::uint32_t layer)>& fallback);

/// Puts layers behind the window. No layer, no window.
void set_window(ModelDesc& desc, std::uint32_t window, const std::vector<bool>& windowed);

/// `sliding_window` where `use_sliding_window` is true, 0 elsewhere (Qwen2, Qwen3, SmolLM3).
Result<std::uint32_t> read_optional_window(const Config& config);

}  // namespace ml
