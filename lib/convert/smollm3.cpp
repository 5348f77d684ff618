#include "convert/smollm3.hpp"

#include "convert/common_rows.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <array>

namespace ml {

namespace {

using std::string_view;

constexpr std::array<string_view, 1> kTypes{"smollm3"};
constexpr std::array<string_view, 1> kArchitectures{"SmolLM3ForCausalLM"};

// no_rope_layers is 1 where a layer rotates, in spite of its name.
Result<void> read_unrotated_layers(const Config& config, ModelDesc& desc) {
  constexpr string_view kKey = "no_rope_layers";
  constexpr std::uint32_t kDefaultInterval = 4;
  ML_TRY(const std::vector<std::uint32_t> rotates, config.counts(kKey));
  ML_TRY(const std::uint32_t interval, config.count("no_rope_layer_interval", 1, 65536, kDefaultInterval));
  if (!rotates.empty() && rotates.size() != desc.layers.size()) {
    return config.wrong(kKey, fmt::format("a list of {} elements, one for each layer", desc.layers.size()));
  }
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    desc.layers[i].no_rope = rotates.empty() ? (i + 1) % interval == 0 : rotates[i] == 0;
  }
  return {};
}

Result<void> refine(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  ML_CHECK(config.flag("mlp_bias", false));
  ML_CHECK(read_unrotated_layers(config, desc));
  ML_TRY(const std::uint32_t window, read_optional_window(config));
  ML_TRY(const std::vector<bool> windowed,
         read_layer_types(config, desc.layers.size(), "sliding_attention",
                          [&](std::uint32_t i) { return desc.layers[i].no_rope; }));
  set_window(desc, window, windowed);
  return {};
}

}  // namespace

constexpr Family kSmolLm3Family{
    .name = "smollm3",
    .model_types = kTypes,
    .architectures = kArchitectures,
    .activations = kSiluNames,
    .defaults = {.tied = true, .rope_theta = 2e6f, .max_seq = 32768, .n_kv_heads = 4},
    .tensors = kLlamaTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine,
};

}  // namespace ml
