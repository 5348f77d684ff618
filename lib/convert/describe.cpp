#include "convert/family.hpp"
#include "convert/latent.hpp"
#include "convert/rope.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

// The limits of mlb(5), HEADER.
constexpr std::uint32_t kMaxDim = 65536;
constexpr std::uint32_t kMaxVocab = 1u << 24;
constexpr std::uint32_t kMinVocab = 3;

Error bad_shape(std::string message) { return {.status = Status::shape, .message = std::move(message)}; }

Result<void> read_heads(const Config& config, const ConfigDefaults& defaults, ModelDesc& desc) {
  ML_TRY(desc.n_heads, config.count("num_attention_heads", 1, kMaxDim, defaults.n_heads));
  const bool null = config.is_null("num_key_value_heads");
  ML_TRY(desc.n_kv_heads, config.count("num_key_value_heads", 1, kMaxDim,
                                       null ? desc.n_heads : defaults.n_kv_heads.value_or(desc.n_heads)));
  if (desc.n_heads % desc.n_kv_heads != 0) {
    return config.wrong("num_key_value_heads",
                        fmt::format("a divisor of num_attention_heads, {}", desc.n_heads), Status::shape);
  }
  ML_TRY(desc.head_dim, config.count("head_dim", 2, kMaxDim, defaults.head_dim));
  if (desc.head_dim == 0) {
    if (desc.dim % desc.n_heads != 0) {
      return config.wrong("num_attention_heads", fmt::format("a divisor of hidden_size, {}", desc.dim),
                          Status::shape);
    }
    desc.head_dim = desc.dim / desc.n_heads;
  }
  if (desc.head_dim % 2 != 0) return bad_shape(fmt::format("head_dim is {}, must be even", desc.head_dim));
  if (std::uint64_t(desc.head_dim) * desc.n_heads > kMaxDim) {
    return bad_shape(
        fmt::format("num_attention_heads {} x head_dim {} is over {}", desc.n_heads, desc.head_dim, kMaxDim));
  }
  return {};
}

// Weights that were packed by a quantization library are no plain matrices.
Result<void> refuse_quantized(const Config& config) {
  ML_TRY(const std::optional<Config> quantization, config.object("quantization_config"));
  if (!quantization) return {};
  return quantization->wrong("quant_method", "absent: only plain checkpoints (BF16, F16, F32) can be read",
                             Status::unsupported);
}

Result<void> refuse_partial_rotary_in(const Config& place, const Family& family) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  ML_TRY(const float factor, place.positive(kKey, 1.0f));
  if (factor == 1) return {};
  return place.wrong(kKey, fmt::format("1 for the {} family, whose heads rotate as a whole", family.name),
                     Status::unsupported);
}

// The key may stand at the top, among the scaling parameters, and, of Gemma, among those of a kind of layer.
Result<void> refuse_partial_rotary(const Config& config, const Family& family) {
  ML_CHECK(refuse_partial_rotary_in(config, family));
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    ML_TRY(const std::optional<Config> parameters, config.object(key));
    if (!parameters) continue;
    ML_CHECK(refuse_partial_rotary_in(*parameters, family));
    for (const std::string_view layers : {"full_attention", "sliding_attention"}) {
      ML_TRY(const std::optional<Config> inner, parameters->object(layers));
      if (inner) ML_CHECK(refuse_partial_rotary_in(*inner, family));
    }
  }
  return {};
}

Result<ModelDesc> describe(const Config& config, const Family& family) {
  ML_CHECK(refuse_quantized(config));
  const ConfigDefaults& defaults = family.defaults;
  ModelDesc desc;
  ML_TRY(desc.dim, config.count("hidden_size", 1, kMaxDim, defaults.dim));
  ML_TRY(const std::uint32_t n_layers, config.count("num_hidden_layers", 1, kMaxDim, defaults.n_layers));
  desc.layers.resize(n_layers);
  ML_CHECK(read_heads(config, defaults, desc));
  ML_TRY(desc.hidden_dim, config.count("intermediate_size", 1, kMaxDim, defaults.hidden_dim));
  ML_TRY(desc.vocab, config.count("vocab_size", kMinVocab, kMaxVocab, defaults.vocab));
  ML_TRY(desc.max_seq, config.count("max_position_embeddings", 1, kMaxVocab, defaults.max_seq));
  ML_TRY(desc.norm_eps, config.non_negative("rms_norm_eps", defaults.norm_eps));
  ML_TRY(desc.shared_classifier, config.flag("tie_word_embeddings", defaults.tied));
  ML_TRY(desc.rope, read_rope(config, defaults.rope_theta, desc.head_dim, desc.max_seq));

  ML_TRY(const std::string activation, config.text(family.activation_key));
  desc.activation = family.activation;
  const auto& known = family.activations;
  if (!activation.empty() && !known.empty() &&
      std::find(known.begin(), known.end(), activation) == known.end()) {
    return config.wrong(family.activation_key,
                        fmt::format("{} for the {} family", fmt::join(known, " or "), family.name),
                        Status::unsupported);
  }
  if (!family.partial_rotary) ML_CHECK(refuse_partial_rotary(config, family));
  ML_CHECK(family.refine(config, desc));
  ML_CHECK(read_latent(config, desc));
  return desc;
}

}  // namespace

Result<ModelDesc> describe_checkpoint(const Config& config, const Family& family) {
  auto desc = describe(config, family);
  if (!desc) return with_path(std::move(desc.error()), config.path());
  return desc;
}

}  // namespace ml
