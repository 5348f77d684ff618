#include "convert/phi3.hpp"

#include "convert/common_rows.hpp"
#include "convert/rope.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using std::string_view;

constexpr string_view kQkv = "self_attn.qkv_proj.weight";
constexpr string_view kGateUp = "mlp.gate_up_proj.weight";

constexpr std::array kTensors{
    kEmbeddingRow,
    TensorRow{Role::attn_norm, "input_layernorm.weight"},
    TensorRow{Role::wq, kQkv, Part::fused_q},
    TensorRow{Role::wk, kQkv, Part::fused_k},
    TensorRow{Role::wv, kQkv, Part::fused_v},
    kOutputRow,
    TensorRow{Role::ffn_norm, "post_attention_layernorm.weight"},
    TensorRow{Role::w1, kGateUp, Part::first_half},
    kDownRow,
    TensorRow{Role::w3, kGateUp, Part::second_half},
    TensorRow{Role::final_norm, "norm.weight"},
    kClassifierRow,
};

constexpr std::array<string_view, 1> kTypes{"phi3"};
constexpr std::array<string_view, 1> kArchitectures{"Phi3ForCausalLM"};

Result<void> refine(const Config& config, ModelDesc& desc) {
  ML_CHECK(read_partial_rotary(config, 1.0f, desc));
  ML_TRY(const std::uint32_t window, config.count("sliding_window", 1, kMaxWindow, 0));
  set_window(desc, window, std::vector<bool>(desc.layers.size(), true));
  return {};
}

}  // namespace

constexpr Family kPhi3Family{
    .name = "phi3",
    .model_types = kTypes,
    .architectures = kArchitectures,
    .activations = kSiluNames,
    .defaults = {.norm_eps = 1e-5f, .max_seq = 4096},
    .tensors = kTensors,
    .zero_only = {},
    .ignored = kSavedFrequencies,
    .partial_rotary = true,
    .refine = refine,
};

}  // namespace ml
