#include "convert/k2_horizon.hpp"

#include "convert/common_rows.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <array>
#include <variant>

namespace ml {

namespace {

using std::string_view;

constexpr std::array kTensors{
    kEmbeddingRow,
    TensorRow{Role::attn_norm, "input_layernorm.weight"},
    kQueryRow,
    kKeyRow,
    kValueRow,
    TensorRow{Role::v_router, "self_attn.v_router.weight"},
    TensorRow{Role::v_router_bias, "self_attn.v_router.bias"},
    TensorRow{Role::v_expert, "self_attn.v_experts.weight"},
    kOutputRow,
    TensorRow{Role::wg, "self_attn.gate_proj.weight"},
    TensorRow{Role::ffn_norm, "post_attention_layernorm.weight"},
    kGateRow,
    kDownRow,
    kUpRow,
    TensorRow{Role::router, "mlp.gate.weight"},
    TensorRow{Role::router_bias, "mlp.gate.bias"},
    TensorRow{Role::expert_w1, "mlp.experts.gate_proj.weight"},
    TensorRow{Role::expert_w2, "mlp.experts.down_proj.weight"},
    TensorRow{Role::expert_w3, "mlp.experts.up_proj.weight"},
    TensorRow{Role::shared_w1, "mlp.shared_experts.gate_proj.weight"},
    TensorRow{Role::shared_w2, "mlp.shared_experts.down_proj.weight"},
    TensorRow{Role::shared_w3, "mlp.shared_experts.up_proj.weight"},
    TensorRow{Role::final_norm, "norm.weight"},
    kClassifierRow,
};

constexpr std::array<string_view, 1> kTypes{"k2_horizon"};
constexpr std::array<string_view, 1> kArchitectures{"K2HorizonForCausalLM"};
constexpr std::array<string_view, 1> kActivations{"silu"};
constexpr std::uint32_t kMaxDim = 65536;
constexpr std::uint32_t kHeadDim = 128;
constexpr std::uint32_t kGroupUnit = 64;

// Other families have values for these where they are missing.
constexpr std::array<string_view, 4> kRequired{"num_key_value_heads", "head_dim", "rms_norm_eps",
                                               "mlp_only_layers"};

// Keys that may be missing and mean one thing only (nanoseedlm(5), MOVA).
struct Fixed {
  string_view key;
  std::variant<bool, std::uint32_t, string_view> value;
};
constexpr std::array kFixed{
    Fixed{"router_score_func", string_view("sigmoid")},
    Fixed{"attention_gate_func", string_view("softplus")},
    Fixed{"query_key_norm", false},
    Fixed{"use_sliding_window", false},
    Fixed{"norm_topk_prob", true},
    Fixed{"moe_gate_bias", true},
    Fixed{"tie_word_embeddings", false},
    Fixed{"num_shared_experts", 1u},
    Fixed{"decoder_sparse_step", 1u},
    Fixed{"rope_head_dim", kHeadDim},
};

Result<bool> is_value(const Config& config, const Fixed& fixed) {
  if (const auto* flag = std::get_if<bool>(&fixed.value)) {
    ML_TRY(const bool value, config.flag(fixed.key, *flag));
    return value == *flag;
  }
  if (const auto* number = std::get_if<std::uint32_t>(&fixed.value)) {
    ML_TRY(const std::uint32_t value, config.count(fixed.key, 0, UINT32_MAX, *number));
    return value == *number;
  }
  ML_TRY(const std::string value, config.text(fixed.key));
  return value.empty() || value == std::get<string_view>(fixed.value);
}

Result<void> check_fixed(const Config& config) {
  for (const string_view key : kRequired) {
    if (!config.has(key)) return config.wrong(key, "there: the k2_horizon family assumes no value");
  }
  for (const Fixed& fixed : kFixed) {
    ML_TRY(const bool right, is_value(config, fixed));
    if (right) continue;
    const std::string value = std::visit([](const auto& v) { return fmt::format("{}", v); }, fixed.value);
    return config.wrong(fixed.key, fmt::format("{} for the k2_horizon family", value), Status::unsupported);
  }
  return {};
}

// theta stands at the top or in rope_parameters; nothing else scales.
Result<void> check_rope(const Config& config, const ModelDesc& desc) {
  ML_TRY(std::optional<Config> scaling, config.object("rope_parameters"));
  if (!scaling) {
    ML_TRY(scaling, config.object("rope_scaling"));
  }
  if (!config.has("rope_theta") && !(scaling && scaling->has("rope_theta")))
    return config.wrong("rope_theta", "there: the k2_horizon family assumes no value");
  if (desc.rope.type == RopeType::plain) return {};
  return scaling->wrong("rope_type", "default for the k2_horizon family", Status::unsupported);
}

Result<void> read_mixture(const Config& config, MixtureDesc& mixture) {
  ML_TRY(mixture.n_experts, config.count("num_experts", 1, kMaxDim));
  ML_TRY(mixture.n_chosen, config.count("num_experts_per_tok", 1, mixture.n_experts));
  ML_TRY(mixture.expert_dim, config.count("moe_intermediate_size", 1, kMaxDim));
  ML_TRY(mixture.n_value_experts, config.count("mova_num_experts", 1, kMaxDim));
  ML_TRY(mixture.n_chosen_values, config.count("mova_num_experts_per_tok", 1, mixture.n_value_experts));
  ML_TRY(mixture.factor, config.positive("router_scaling_factor"));
  return {};
}

// The dense layers come first.
Result<void> read_sparse_layers(const Config& config, ModelDesc& desc) {
  constexpr string_view kKey = "mlp_only_layers";
  ML_TRY(const std::vector<std::uint32_t> dense, config.counts(kKey));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] == i && i < desc.layers.size()) continue;
    return config.wrong(kKey, fmt::format("[0, 1, ...], the first of the {} layers", desc.layers.size()));
  }
  for (std::size_t i = dense.size(); i < desc.layers.size(); ++i) desc.layers[i].sparse = true;
  return {};
}

Result<void> refine(const Config& config, ModelDesc& desc) {
  ML_CHECK(check_fixed(config));
  ML_CHECK(check_rope(config, desc));
  if (desc.head_dim != kHeadDim) return config.wrong("head_dim", fmt::format("{}", kHeadDim), Status::shape);
  ML_TRY(desc.norm_groups, config.count("layernorm_num_groups", 1, kMaxDim / kGroupUnit));
  if (desc.dim % (kGroupUnit * desc.norm_groups) != 0) {
    return config.wrong(
        "hidden_size",
        fmt::format("a multiple of {} x layernorm_num_groups, {}", kGroupUnit, desc.norm_groups),
        Status::shape);
  }
  desc.attn_gate = true;
  desc.gate_function = GateFunction::softplus;
  ML_CHECK(read_mixture(config, desc.mixture));
  return read_sparse_layers(config, desc);
}

}  // namespace

constexpr Family kK2HorizonFamily{
    .name = "k2_horizon",
    .model_types = kTypes,
    .architectures = kArchitectures,
    .activations = kActivations,
    .defaults = {.max_seq = 524288},
    .tensors = kTensors,
    .zero_only = {},
    .ignored = kSavedFrequencies,
    .refine = refine,
};

}  // namespace ml
