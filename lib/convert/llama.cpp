#include "convert/llama.hpp"

#include "convert/common_rows.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using std::string_view;

constexpr std::array<string_view, 1> kLlamaTypes{"llama"};
constexpr std::array<string_view, 1> kLlamaArchitectures{"LlamaForCausalLM"};
constexpr std::array<string_view, 1> kMistralTypes{"mistral"};
constexpr std::array<string_view, 1> kMistralArchitectures{"MistralForCausalLM"};

Result<void> refine_llama(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  // Biases of o_proj and the FFN that are there must be 0 (kBiasesOfZero); the flag itself only has to be
  // one.
  ML_CHECK(config.flag("mlp_bias", false));
  return {};
}

// The window of MistralConfig where the key is missing; null switches it off.
constexpr std::uint32_t kMistralWindow = 4096;

Result<void> refine_mistral(const Config& config, ModelDesc& desc) {
  if (config.is_null("sliding_window")) return {};
  ML_TRY(desc.sliding_window, config.count("sliding_window", 1, kMaxWindow, kMistralWindow));
  for (LayerDesc& layer : desc.layers) layer.windowed = true;
  return {};
}

}  // namespace

constexpr Family kLlamaFamily{
    .name = "llama",
    .model_types = kLlamaTypes,
    .architectures = kLlamaArchitectures,
    .activations = kSiluNames,
    .defaults = {},
    .tensors = kLlamaTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_llama,
};

constexpr Family kMistralFamily{
    .name = "mistral",
    .model_types = kMistralTypes,
    .architectures = kMistralArchitectures,
    .activations = kSiluNames,
    .defaults = {.max_seq = 131072, .n_kv_heads = 8},
    .tensors = kLlamaTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_mistral,
};

}  // namespace ml
