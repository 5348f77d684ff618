#pragma once

// Names that most families share, and what a .mlb holds none of.

#include "convert/family.hpp"

#include <array>

namespace ml {

inline constexpr TensorRow kEmbeddingRow{Role::tok_emb, "embed_tokens.weight"};
inline constexpr TensorRow kClassifierRow{Role::wcls, "lm_head.weight"};
inline constexpr TensorRow kQueryRow{Role::wq, "self_attn.q_proj.weight"};
inline constexpr TensorRow kKeyRow{Role::wk, "self_attn.k_proj.weight"};
inline constexpr TensorRow kValueRow{Role::wv, "self_attn.v_proj.weight"};
inline constexpr TensorRow kOutputRow{Role::wo, "self_attn.o_proj.weight"};
inline constexpr TensorRow kQueryBiasRow{Role::bq, "self_attn.q_proj.bias"};
inline constexpr TensorRow kKeyBiasRow{Role::bk, "self_attn.k_proj.bias"};
inline constexpr TensorRow kValueBiasRow{Role::bv, "self_attn.v_proj.bias"};
inline constexpr TensorRow kGateRow{Role::w1, "mlp.gate_proj.weight"};
inline constexpr TensorRow kDownRow{Role::w2, "mlp.down_proj.weight"};
inline constexpr TensorRow kUpRow{Role::w3, "mlp.up_proj.weight"};

/// A Llama's tensors, and those of families that differ from it in their config only.
inline constexpr std::array kLlamaTensors{
    kEmbeddingRow,  TensorRow{Role::attn_norm, "input_layernorm.weight"},
    kQueryRow,      kKeyRow,
    kValueRow,      kOutputRow,
    kQueryBiasRow,  kKeyBiasRow,
    kValueBiasRow,  TensorRow{Role::ffn_norm, "post_attention_layernorm.weight"},
    kGateRow,       kDownRow,
    kUpRow,         TensorRow{Role::final_norm, "norm.weight"},
    kClassifierRow,
};

// attention_bias and mlp_bias put these beside what .mlb can hold.
inline constexpr std::array<std::string_view, 4> kBiasesOfZero{
    "self_attn.o_proj.bias",
    "mlp.gate_proj.bias",
    "mlp.up_proj.bias",
    "mlp.down_proj.bias",
};

// Frequencies that old versions of transformers saved: they follow from the config.
inline constexpr std::array<std::string_view, 1> kSavedFrequencies{"rotary_emb.inv_freq"};

inline constexpr std::array<std::string_view, 2> kSiluNames{"silu", "swish"};
inline constexpr std::array<std::string_view, 1> kGeluTanhNames{"gelu_pytorch_tanh"};

}  // namespace ml
