#include "convert/qwen35.hpp"

#include "convert/common_rows.hpp"
#include "convert/rope.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using std::string_view;

// All norms but the one inside the linear layers hold w of 1 + w. q_proj has queries and gates head by head.
constexpr std::array kTensors{
    kEmbeddingRow,
    TensorRow{Role::attn_norm, "input_layernorm.weight", Part::whole, true},
    TensorRow{Role::wq, "self_attn.q_proj.weight", Part::head_first},
    TensorRow{Role::wg, "self_attn.q_proj.weight", Part::head_second},
    kKeyRow,
    kValueRow,
    kOutputRow,
    TensorRow{Role::q_norm, "self_attn.q_norm.weight", Part::whole, true},
    TensorRow{Role::k_norm, "self_attn.k_norm.weight", Part::whole, true},
    TensorRow{Role::lqkv, "linear_attn.in_proj_qkv.weight"},
    TensorRow{Role::lz, "linear_attn.in_proj_z.weight"},
    TensorRow{Role::lb, "linear_attn.in_proj_b.weight"},
    TensorRow{Role::la, "linear_attn.in_proj_a.weight"},
    TensorRow{Role::lconv, "linear_attn.conv1d.weight"},
    TensorRow{Role::dt_bias, "linear_attn.dt_bias"},
    TensorRow{Role::a_log, "linear_attn.A_log"},
    TensorRow{Role::lnorm, "linear_attn.norm.weight"},
    TensorRow{Role::lout, "linear_attn.out_proj.weight"},
    TensorRow{Role::ffn_norm, "post_attention_layernorm.weight", Part::whole, true},
    kGateRow,
    kDownRow,
    kUpRow,
    TensorRow{Role::final_norm, "norm.weight", Part::whole, true},
    kClassifierRow,
};

constexpr std::array<string_view, 2> kTypes{"qwen3_5", "qwen3_5_text"};
constexpr std::array<string_view, 2> kArchitectures{"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"};
constexpr std::array<string_view, 3> kOtherParts{"mtp.", "model.visual.", "visual."};
constexpr std::uint32_t kMaxDim = 65536;

Result<void> refine(const Config& config, ModelDesc& desc) {
  constexpr std::uint32_t kDefaultInterval = 4;
  desc.qk_norm = true;
  desc.attn_gate = true;
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  if (desc.qkv_bias)
    return config.wrong("attention_bias", "false for the qwen3.5 family", Status::unsupported);
  ML_CHECK(read_partial_rotary(config, 0.25f, desc));
  ML_TRY(const std::uint32_t interval, config.count("full_attention_interval", 1, kMaxDim, kDefaultInterval));
  ML_TRY(const std::vector<bool> linear,
         read_layer_types(config, desc.layers.size(), "linear_attention",
                          [&](std::uint32_t i) { return (i + 1) % interval != 0; }));
  bool any = false;
  for (std::size_t i = 0; i < linear.size(); ++i) {
    if (linear[i]) desc.layers[i].kind = LayerKind::gated_delta;
    any = any || linear[i];
  }
  if (!any) return {};
  GatedDeltaDesc& delta = desc.linear;
  ML_TRY(delta.k_heads, config.count("linear_num_key_heads", 1, kMaxDim, 16));
  ML_TRY(delta.v_heads, config.count("linear_num_value_heads", 1, kMaxDim, 32));
  ML_TRY(delta.k_dim, config.count("linear_key_head_dim", 1, kMaxDim, 128));
  ML_TRY(delta.v_dim, config.count("linear_value_head_dim", 1, kMaxDim, 128));
  ML_TRY(delta.conv, config.count("linear_conv_kernel_dim", 1, kMaxDim, 4));
  if (delta.v_heads % delta.k_heads != 0) {
    return config.wrong("linear_num_value_heads", "a multiple of linear_num_key_heads", Status::shape);
  }
  return {};
}

}  // namespace

constexpr Family kQwen35Family{
    .name = "qwen3.5",
    .model_types = kTypes,
    .architectures = kArchitectures,
    .activations = kSiluNames,
    .defaults = {.max_seq = 32768, .head_dim = 256},
    .tensors = kTensors,
    .zero_only = {},
    .ignored = kSavedFrequencies,
    .other_parts = kOtherParts,
    .partial_rotary = true,
    .refine = refine,
};

}  // namespace ml
