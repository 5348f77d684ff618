#include "convert/qwen.hpp"

#include "convert/common_rows.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using std::string_view;

constexpr std::array kTensors{
    kEmbeddingRow,
    TensorRow{Role::attn_norm, "input_layernorm.weight"},
    kQueryRow,
    kKeyRow,
    kValueRow,
    kOutputRow,
    kQueryBiasRow,
    kKeyBiasRow,
    kValueBiasRow,
    TensorRow{Role::q_norm, "self_attn.q_norm.weight"},
    TensorRow{Role::k_norm, "self_attn.k_norm.weight"},
    TensorRow{Role::ffn_norm, "post_attention_layernorm.weight"},
    kGateRow,
    kDownRow,
    kUpRow,
    TensorRow{Role::final_norm, "norm.weight"},
    kClassifierRow,
};

constexpr std::array<string_view, 1> kQwen2Types{"qwen2"};
constexpr std::array<string_view, 1> kQwen2Architectures{"Qwen2ForCausalLM"};
constexpr std::array<string_view, 1> kQwen3Types{"qwen3"};
constexpr std::array<string_view, 1> kQwen3Architectures{"Qwen3ForCausalLM"};

// The upper layers, from max_window_layers on, see a window.
Result<void> read_upper_window(const Config& config, ModelDesc& desc) {
  constexpr std::uint32_t kDefaultFullLayers = 28;
  ML_TRY(const std::uint32_t window, read_optional_window(config));
  ML_TRY(const std::uint32_t full_layers,
         config.count("max_window_layers", 0, UINT32_MAX, kDefaultFullLayers));
  ML_TRY(const std::vector<bool> windowed,
         read_layer_types(config, desc.layers.size(), "sliding_attention",
                          [&](std::uint32_t i) { return i >= full_layers; }));
  set_window(desc, window, windowed);
  return {};
}

Result<void> refine_qwen2(const Config& config, ModelDesc& desc) {
  desc.qkv_bias = true;
  return read_upper_window(config, desc);
}

Result<void> refine_qwen3(const Config& config, ModelDesc& desc) {
  desc.qk_norm = true;
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  return read_upper_window(config, desc);
}

}  // namespace

constexpr Family kQwen2Family{
    .name = "qwen2",
    .model_types = kQwen2Types,
    .architectures = kQwen2Architectures,
    .activations = kSiluNames,
    .defaults = {.max_seq = 32768},
    .tensors = kTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_qwen2,
};

constexpr Family kQwen3Family{
    .name = "qwen3",
    .model_types = kQwen3Types,
    .architectures = kQwen3Architectures,
    .activations = kSiluNames,
    .defaults = {.max_seq = 32768, .head_dim = 128},
    .tensors = kTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_qwen3,
};

}  // namespace ml
