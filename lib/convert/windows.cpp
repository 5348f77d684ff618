#include "convert/windows.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

namespace ml {

Result<std::vector<bool>> read_layer_types(const Config& config, std::size_t n_layers, std::string_view name,
                                           const std::function<bool(std::uint32_t layer)>& fallback) {
  constexpr std::string_view kKey = "layer_types";
  constexpr std::string_view kFull = "full_attention";
  ML_TRY(const std::vector<std::string> types, config.texts(kKey));
  std::vector<bool> flags(n_layers);
  if (types.empty()) {
    for (std::uint32_t i = 0; i < n_layers; ++i) flags[i] = fallback(i);
    return flags;
  }
  if (types.size() != n_layers) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} has {} elements, must have one for each of the {} layers", kKey,
                                        types.size(), n_layers),
                 .path = config.path()};
  }
  for (std::size_t i = 0; i < n_layers; ++i) {
    if (types[i] != name && types[i] != kFull) {
      return config.wrong(kKey, fmt::format("a list of {} and {}", name, kFull), Status::unsupported);
    }
    flags[i] = types[i] == name;
  }
  return flags;
}

void set_window(ModelDesc& desc, std::uint32_t window, const std::vector<bool>& windowed) {
  for (std::size_t i = 0; i < windowed.size() && window != 0; ++i) {
    desc.layers[i].windowed = windowed[i];
    if (windowed[i]) desc.sliding_window = window;
  }
}

Result<std::uint32_t> read_optional_window(const Config& config) {
  ML_TRY(const bool used, config.flag("use_sliding_window", false));
  if (!used) return 0u;
  return config.count("sliding_window", 1, kMaxWindow, 0);
}

}  // namespace ml
