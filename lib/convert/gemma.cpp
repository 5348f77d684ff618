#include "convert/gemma.hpp"

#include "convert/common_rows.hpp"
#include "convert/rope.hpp"
#include "convert/windows.hpp"
#include "util/try.hpp"

#include <array>
#include <cmath>

namespace ml {

namespace {

using std::string_view;

constexpr std::array kGemma1Tensors{
    kEmbeddingRow,  TensorRow{Role::attn_norm, "input_layernorm.weight", Part::whole, true},
    kQueryRow,      kKeyRow,
    kValueRow,      kOutputRow,
    kQueryBiasRow,  kKeyBiasRow,
    kValueBiasRow,  TensorRow{Role::ffn_norm, "post_attention_layernorm.weight", Part::whole, true},
    kGateRow,       kDownRow,
    kUpRow,         TensorRow{Role::final_norm, "norm.weight", Part::whole, true},
    kClassifierRow,
};

// Gemma 2 and 3: post_attention_layernorm is no norm of the FFN's input here.
constexpr std::array kTensors{
    kEmbeddingRow,
    TensorRow{Role::attn_norm, "input_layernorm.weight", Part::whole, true},
    kQueryRow,
    kKeyRow,
    kValueRow,
    kOutputRow,
    kQueryBiasRow,
    kKeyBiasRow,
    kValueBiasRow,
    TensorRow{Role::q_norm, "self_attn.q_norm.weight", Part::whole, true},
    TensorRow{Role::k_norm, "self_attn.k_norm.weight", Part::whole, true},
    TensorRow{Role::ffn_norm, "pre_feedforward_layernorm.weight", Part::whole, true},
    kGateRow,
    kDownRow,
    kUpRow,
    TensorRow{Role::post_attn_norm, "post_attention_layernorm.weight", Part::whole, true},
    TensorRow{Role::post_ffn_norm, "post_feedforward_layernorm.weight", Part::whole, true},
    TensorRow{Role::final_norm, "norm.weight", Part::whole, true},
    kClassifierRow,
};

constexpr std::array<string_view, 1> kGemmaTypes{"gemma"};
constexpr std::array<string_view, 1> kGemmaArchitectures{"GemmaForCausalLM"};
constexpr std::array<string_view, 1> kGemma2Types{"gemma2"};
constexpr std::array<string_view, 1> kGemma2Architectures{"Gemma2ForCausalLM"};
constexpr std::array<string_view, 2> kGemma3Types{"gemma3", "gemma3_text"};
constexpr std::array<string_view, 2> kGemma3Architectures{"Gemma3ForCausalLM",
                                                          "Gemma3ForConditionalGeneration"};
constexpr std::array<string_view, 4> kVisionParts{"vision_tower.", "multi_modal_projector.",
                                                  "model.vision_tower.", "model.multi_modal_projector."};

Result<void> refine_common(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.qkv_bias, config.flag("attention_bias", false));
  desc.embed_scale = std::sqrt(static_cast<float>(desc.dim));
  return {};
}

// Scores are divided by sqrt(query_pre_attn_scalar), which need not be the head's size.
Result<void> read_attn_scale(const Config& config, ModelDesc& desc) {
  ML_TRY(const float scalar, config.positive("query_pre_attn_scalar", 256.0f));
  desc.attn_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar)));
  return {};
}

// A cap that is null is none; one that is missing is the class's.
Result<float> read_softcap(const Config& config, string_view key, float missing) {
  if (config.is_null(key)) return 0.0f;
  return config.non_negative(key, missing);
}

Result<void> refine_gemma(const Config& config, ModelDesc& desc) {
  ML_CHECK(refine_common(config, desc));
  // The first configs say hidden_act "gelu" and mean the tanh form that the models were trained with.
  ML_TRY(const std::string activation, config.text("hidden_act"));
  if (!activation.empty() && activation != "gelu" && activation != kGeluTanhNames[0]) {
    return config.wrong("hidden_act", "gelu or gelu_pytorch_tanh for the gemma family", Status::unsupported);
  }
  return {};
}

Result<void> refine_gemma2(const Config& config, ModelDesc& desc) {
  ML_CHECK(refine_common(config, desc));
  desc.post_norms = true;
  ML_CHECK(read_attn_scale(config, desc));
  ML_TRY(desc.attn_softcap, read_softcap(config, "attn_logit_softcapping", 50));
  ML_TRY(desc.final_softcap, read_softcap(config, "final_logit_softcapping", 30));
  ML_TRY(const std::uint32_t window, config.count("sliding_window", 1, kMaxWindow, 4096));
  ML_TRY(const std::vector<bool> windowed, read_layer_types(config, desc.layers.size(), "sliding_attention",
                                                            [](std::uint32_t i) { return i % 2 == 0; }));
  set_window(desc, window, windowed);
  return {};
}

// Transformers 5 nests an object for each kind of layer; before it, local layers had rope_local_base_freq.
Result<void> read_gemma3_rope(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.rope.local_theta, config.positive("rope_local_base_freq", 10000.0f));
  ML_TRY(const std::optional<Config> parameters, config.object("rope_parameters"));
  if (!parameters) return {};
  ML_TRY(const std::optional<Config> full, parameters->object("full_attention"));
  ML_TRY(const std::optional<Config> local, parameters->object("sliding_attention"));
  if (full) ML_CHECK(read_rope_scaling(*full, desc.max_seq, desc.rope));
  if (local) {
    ML_TRY(desc.rope.local_theta, local->positive("rope_theta", desc.rope.local_theta));
    ML_TRY(const std::string type, local->text("rope_type"));
    if (!type.empty() && type != "default") {
      return local->wrong("rope_type", "default: local layers are not scaled", Status::unsupported);
    }
  }
  return {};
}

Result<void> refine_gemma3(const Config& config, ModelDesc& desc) {
  ML_CHECK(refine_common(config, desc));
  desc.post_norms = true;
  desc.qk_norm = true;
  ML_CHECK(read_attn_scale(config, desc));
  ML_TRY(desc.attn_softcap, read_softcap(config, "attn_logit_softcapping", 0));
  ML_TRY(desc.final_softcap, read_softcap(config, "final_logit_softcapping", 0));
  ML_TRY(const bool bidirectional, config.flag("use_bidirectional_attention", false));
  if (bidirectional) return config.wrong("use_bidirectional_attention", "false", Status::unsupported);
  ML_CHECK(read_gemma3_rope(config, desc));
  ML_TRY(const std::uint32_t window, config.count("sliding_window", 1, kMaxWindow, 4096));
  ML_TRY(const std::uint32_t pattern, config.count("sliding_window_pattern", 1, 65536, 6));
  ML_TRY(const std::vector<bool> windowed,
         read_layer_types(config, desc.layers.size(), "sliding_attention",
                          [&](std::uint32_t i) { return (i + 1) % pattern != 0; }));
  set_window(desc, window, windowed);
  for (std::size_t i = 0; i < windowed.size(); ++i) desc.layers[i].local_rope = windowed[i];
  if (desc.sliding_window == 0) desc.rope.local_theta = 0;
  return {};
}

}  // namespace

constexpr Family kGemmaFamily{
    .name = "gemma",
    .model_types = kGemmaTypes,
    .architectures = kGemmaArchitectures,
    .activation = Activation::gelu_tanh,
    .activation_key = "hidden_activation",
    .activations = kGeluTanhNames,
    .defaults = {.tied = true, .max_seq = 8192, .head_dim = 256},
    .tensors = kGemma1Tensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_gemma,
};

constexpr Family kGemma2Family{
    .name = "gemma2",
    .model_types = kGemma2Types,
    .architectures = kGemma2Architectures,
    .activation = Activation::gelu_tanh,
    .activation_key = "hidden_activation",
    .activations = kGeluTanhNames,
    .defaults = {.tied = true, .max_seq = 8192, .head_dim = 256},
    .tensors = kTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .refine = refine_gemma2,
};

// Published wrappers leave out what the class assumes.
constexpr Family kGemma3Family{
    .name = "gemma3",
    .model_types = kGemma3Types,
    .architectures = kGemma3Architectures,
    .activation = Activation::gelu_tanh,
    .activation_key = "hidden_activation",
    .activations = kGeluTanhNames,
    .defaults = {.tied = true,
                 .rope_theta = 1e6f,
                 .max_seq = 131072,
                 .n_kv_heads = 4,
                 .n_heads = 8,
                 .dim = 2304,
                 .n_layers = 26,
                 .hidden_dim = 9216,
                 .vocab = 262208,
                 .head_dim = 256},
    .tensors = kTensors,
    .zero_only = kBiasesOfZero,
    .ignored = kSavedFrequencies,
    .other_parts = kVisionParts,
    .refine = refine_gemma3,
};

}  // namespace ml
