#include "convert/llama.hpp"

#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using std::string_view;

constexpr std::array kTensors{
    TensorRow{Role::tok_emb, "embed_tokens.weight"},
    TensorRow{Role::attn_norm, "input_layernorm.weight"},
    TensorRow{Role::wq, "self_attn.q_proj.weight"},
    TensorRow{Role::wk, "self_attn.k_proj.weight"},
    TensorRow{Role::wv, "self_attn.v_proj.weight"},
    TensorRow{Role::wo, "self_attn.o_proj.weight"},
    TensorRow{Role::bq, "self_attn.q_proj.bias"},
    TensorRow{Role::bk, "self_attn.k_proj.bias"},
    TensorRow{Role::bv, "self_attn.v_proj.bias"},
    TensorRow{Role::ffn_norm, "post_attention_layernorm.weight"},
    TensorRow{Role::w1, "mlp.gate_proj.weight"},
    TensorRow{Role::w2, "mlp.down_proj.weight"},
    TensorRow{Role::w3, "mlp.up_proj.weight"},
    TensorRow{Role::final_norm, "norm.weight"},
    TensorRow{Role::wcls, "lm_head.weight"},
};

// attention_bias and mlp_bias put these beside what .mlb can hold.
constexpr std::array<string_view, 4> kZeroOnly{
    "self_attn.o_proj.bias",
    "mlp.gate_proj.bias",
    "mlp.up_proj.bias",
    "mlp.down_proj.bias",
};

// Frequencies that old versions of transformers saved: they follow from the config.
constexpr std::array<string_view, 1> kIgnored{"rotary_emb.inv_freq"};

constexpr std::array<string_view, 2> kSilu{"silu", "swish"};
constexpr std::array<string_view, 1> kLlamaTypes{"llama"};
constexpr std::array<string_view, 1> kLlamaArchitectures{"LlamaForCausalLM"};
constexpr std::array<string_view, 1> kMistralTypes{"mistral"};
constexpr std::array<string_view, 1> kMistralArchitectures{"MistralForCausalLM"};

Result<void> refine_llama(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  // Biases of o_proj and the FFN that are there must be 0 (kZeroOnly); the flag itself only has to be one.
  ML_CHECK(config.flag("mlp_bias", false));
  return {};
}

// The window of MistralConfig where the key is missing; null switches it off.
constexpr std::uint32_t kMistralWindow = 4096;
constexpr std::uint32_t kMaxWindow = 1u << 24;

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
    .activations = kSilu,
    .defaults = {},
    .tensors = kTensors,
    .zero_only = kZeroOnly,
    .ignored = kIgnored,
    .refine = refine_llama,
};

constexpr Family kMistralFamily{
    .name = "mistral",
    .model_types = kMistralTypes,
    .architectures = kMistralArchitectures,
    .activations = kSilu,
    .defaults = {.max_seq = 131072, .n_kv_heads = 8},
    .tensors = kTensors,
    .zero_only = kZeroOnly,
    .ignored = kIgnored,
    .refine = refine_mistral,
};

}  // namespace ml
