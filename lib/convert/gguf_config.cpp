#include "convert/gguf_arch.hpp"

#include "util/bytes.hpp"
#include "util/exact_math.hpp"
#include "util/narrow.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kFactors = "rope_freqs.weight";
constexpr std::uint64_t kMaxLayers = 65536;

// A key of the metadata and the key of config.json that says the same.
struct KeyRow {
  std::string_view key;
  std::string_view config_key;
};
constexpr std::array kRequired{
    KeyRow{"embedding_length", "hidden_size"},
    KeyRow{"block_count", "num_hidden_layers"},
    KeyRow{"feed_forward_length", "intermediate_size"},
    KeyRow{"attention.head_count", "num_attention_heads"},
    KeyRow{"context_length", "max_position_embeddings"},
    KeyRow{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
};
// Only for messages: config key, and what the file calls it.
constexpr std::array kOtherNames{
    KeyRow{"attention.head_count_kv", "num_key_value_heads"},
    KeyRow{"attention.key_length", "head_dim"},
    KeyRow{"rope.freq_base", "rope_theta"},
    KeyRow{"rope.dimension_count", "partial_rotary_factor"},
    KeyRow{"rope.freq_base_swa", "rope_local_base_freq"},
    KeyRow{"rope.scaling.type", "rope_scaling.rope_type"},
    KeyRow{"rope.scaling.factor", "rope_scaling.factor"},
    KeyRow{"rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings"},
    KeyRow{"rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast"},
    KeyRow{"rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow"},
    KeyRow{"rope.scaling.yarn_attn_factor", "rope_scaling.attention_factor"},
    KeyRow{"attention.sliding_window", "sliding_window"},
    KeyRow{"attention.sliding_window_pattern", "layer_types"},
    KeyRow{"attn_logit_softcapping", "attn_logit_softcapping"},
    KeyRow{"final_logit_softcapping", "final_logit_softcapping"},
    KeyRow{"full_attention_interval", "full_attention_interval"},
    KeyRow{"ssm.group_count", "linear_num_key_heads"},
    KeyRow{"ssm.time_step_rank", "linear_num_value_heads"},
    KeyRow{"ssm.state_size", "linear_key_head_dim"},
    KeyRow{"ssm.inner_size", "linear_value_head_dim"},
    KeyRow{"ssm.conv_kernel", "linear_conv_kernel_dim"},
};

// A number, or an array of equal ones: some writers give a value for each layer.
Result<json> scalar(const GgufKeys& keys, std::string_view key) {
  const GgufValue* value = keys.find(key);
  if (value == nullptr) return keys.wrong(key, "a number");
  if (const auto count = value->count()) return json(*count);
  if (const auto number = value->number())
    return std::isfinite(*number) ? Result<json>(json(*number)) : keys.wrong(key, "a finite number");
  const auto first = value->is_list() && value->n != 0 ? value->at(0).count() : std::nullopt;
  if (!first) return keys.wrong(key, "a number");
  for (std::uint64_t i = 1; i < value->n; ++i) {
    if (value->at(i).count() == first) continue;
    return keys.wrong(key, "the same in every layer", Status::unsupported);
  }
  return json(*first);
}

// What changes the meaning of a model and has no counterpart here.
Result<void> refuse_others(const GgufKeys& keys) {
  ML_TRY(const std::uint64_t experts, keys.count("expert_count", 0));
  if (experts != 0)
    return keys.wrong("expert_count", "0: mixtures of experts cannot be read", Status::unsupported);
  const GgufValue* causal = keys.find("attention.causal");
  if (causal != nullptr && causal->flag() != true)
    return keys.wrong("attention.causal", "true", Status::unsupported);
  if (keys.files().find("rope_factors_long.weight").tensor == nullptr) return {};
  return Error{.status = Status::unsupported,
               .message = "long and short frequency factors (longrope) cannot be read",
               .tensor = "rope_factors_long.weight"};
}

Result<json> yarn(const GgufKeys& keys, double factor, const json& config) {
  ML_TRY(const std::uint64_t orig, keys.count("rope.scaling.original_context_length",
                                              config["max_position_embeddings"].get<std::uint64_t>()));
  ML_TRY(const double fast, keys.number("rope.scaling.yarn_beta_fast", 32));
  ML_TRY(const double slow, keys.number("rope.scaling.yarn_beta_slow", 1));
  ML_TRY(const double ext, keys.number("rope.scaling.yarn_ext_factor", 1));
  if (ext != 1) return keys.wrong("rope.scaling.yarn_ext_factor", "1", Status::unsupported);
  ML_TRY(const double log_mul, keys.number("rope.scaling.yarn_log_multiplier", 0));
  if (log_mul != 0) return keys.wrong("rope.scaling.yarn_log_multiplier", "0", Status::unsupported);
  json scaling{{"rope_type", "yarn"},
               {"factor", factor},
               {"beta_fast", fast},
               {"beta_slow", slow},
               {"original_max_position_embeddings", orig}};
  ML_TRY(const double extra, keys.number("rope.scaling.attn_factor", 1));
  const double usual = factor <= 1 ? 1 : 0.1 * exact_log(factor) + 1;
  ML_TRY(const double attention, keys.number("rope.scaling.yarn_attn_factor", usual));
  if (attention != usual || extra != 1) scaling["attention_factor"] = attention * extra;
  return scaling;
}

Result<json> read_scaling(const GgufKeys& keys, const json& config) {
  ML_TRY(const std::string type, keys.text("rope.scaling.type"));
  ML_TRY(const double old_factor, keys.number("rope.scale_linear", 0));
  ML_TRY(const double factor, keys.number("rope.scaling.factor", old_factor));
  if (type == "none" || (type.empty() && factor == 0)) return json();
  if (!(factor > 0) && (type == "linear" || type == "yarn")) {
    return factor == 0 && type == "linear"
               ? Result<json>(json())
               : Result<json>(keys.wrong("rope.scaling.factor", "a number above 0"));
  }
  if (type == "yarn") return yarn(keys, factor, config);
  if (type.empty() || type == "linear") {
    return factor == 1 ? json() : json{{"rope_type", "linear"}, {"factor", factor}};
  }
  return keys.wrong("rope.scaling.type", "none, linear or yarn", Status::unsupported);
}

// One factor for each pair of dimensions that rotate together.
Result<std::vector<float>> read_factors(const GgufTensor& tensor, std::uint64_t rot_dim) {
  if (tensor.type->name != "F32" || tensor.rows() != 1 || tensor.cols() > 65536) {
    return Error{.status = Status::unsupported,
                 .message = "frequency factors must be one row of F32",
                 .tensor = std::string(tensor.name)};
  }
  if (tensor.cols() != rot_dim / 2) {
    return Error{.status = Status::shape,
                 .message = fmt::format("holds {} frequency factors, must hold {}: half of the {} dimensions "
                                        "of a head that rotate",
                                        tensor.cols(), rot_dim / 2, rot_dim),
                 .tensor = std::string(tensor.name)};
  }
  std::vector<float> factors(tensor.cols());
  load_le(tensor.data.data(), std::span(factors));
  return factors;
}

Result<void> read_rope(const GgufKeys& keys, std::uint64_t rot_dim, json& config) {
  ML_TRY(const double theta, keys.number("rope.freq_base", 10000));
  config["rope_theta"] = theta;
  ML_TRY(json scaling, read_scaling(keys, config));
  if (const GgufTensor* tensor = keys.files().find(kFactors).tensor) {
    ML_TRY(const std::vector<float> factors, read_factors(*tensor, rot_dim));
    ML_TRY(const std::uint64_t orig, keys.count("rope.scaling.original_context_length", 0));
    ML_TRY(json matched, match_rope_factors(factors, theta, orig));
    if (!matched.is_null() && !scaling.is_null()) {
      return keys.wrong("rope.scaling.type", "none beside the tensor rope_freqs.weight", Status::unsupported);
    }
    if (!matched.is_null()) scaling = std::move(matched);
  }
  if (!scaling.is_null()) config["rope_scaling"] = std::move(scaling);
  return {};
}

// Keys of layers with a window, which can have heads of their own.
Result<void> check_windowed_heads(const GgufKeys& keys, std::uint64_t head_dim, std::uint64_t rot_dim) {
  const std::pair<std::string_view, std::uint64_t> rows[] = {{"attention.key_length_swa", head_dim},
                                                             {"attention.value_length_swa", head_dim},
                                                             {"rope.dimension_count_swa", rot_dim}};
  for (const auto& [key, usual] : rows) {
    ML_TRY(const std::uint64_t value, keys.count(key, usual));
    if (value != usual)
      return keys.wrong(key, fmt::format("that of the other layers, {}", usual), Status::unsupported);
  }
  return {};
}

// How many dimensions of a head rotate; the config gets the share that a config.json would have.
Result<std::uint64_t> read_rotary(const GgufKeys& keys, const GgufArch& arch, std::uint64_t head_dim,
                                  json& config) {
  constexpr std::string_view kKey = "rope.dimension_count";
  ML_TRY(const std::uint64_t rot_dim, keys.count(kKey, head_dim));
  if (!arch.family->partial_rotary && rot_dim != head_dim)
    return keys.wrong(kKey, fmt::format("the head's size, {}", head_dim), Status::unsupported);
  if (rot_dim != head_dim && (rot_dim == 0 || rot_dim % 2 != 0 || rot_dim > head_dim)) {
    return keys.wrong(kKey, fmt::format("even, above 0 and at most the head's size, {}", head_dim),
                      Status::shape);
  }
  // The family multiplies again and cuts off: half a dimension more keeps it from losing one.
  if (rot_dim != head_dim) {
    config["partial_rotary_factor"] = (static_cast<double>(rot_dim) + 0.5) / static_cast<double>(head_dim);
  } else {
    config["partial_rotary_factor"] = 1;
  }
  ML_CHECK(check_windowed_heads(keys, head_dim, rot_dim));
  return rot_dim;
}

Result<json> make_config(const GgufKeys& keys, const GgufArch& arch) {
  json config = json::object();
  for (const KeyRow& row : kRequired) {
    ML_TRY(json value, scalar(keys, row.key));
    config[row.config_key] = std::move(value);
  }
  for (const KeyRow& row : kRequired) {
    const bool whole = row.config_key != "rms_norm_eps";
    if (whole && !config[row.config_key].is_number_unsigned()) return keys.wrong(row.key, "a whole number");
  }
  // Layers of multi-token prediction stand behind the model's own.
  ML_TRY(const std::uint64_t extra, keys.count("nextn_predict_layers", 0));
  const auto n_layers = config["num_hidden_layers"].get<std::uint64_t>();
  if (extra >= n_layers) return keys.wrong("block_count", "above nextn_predict_layers", Status::shape);
  if (n_layers - extra > kMaxLayers)
    return keys.wrong("block_count", fmt::format("an integer from 1 to {}", kMaxLayers), Status::shape);
  config["num_hidden_layers"] = n_layers - extra;

  const auto heads = config["num_attention_heads"].get<std::uint64_t>();
  if (keys.find("attention.head_count_kv") != nullptr) {
    ML_TRY(config["num_key_value_heads"], scalar(keys, "attention.head_count_kv"));
  } else {
    config["num_key_value_heads"] = heads;
  }
  const auto dim = config["hidden_size"].get<std::uint64_t>();
  ML_TRY(const std::uint64_t head_dim,
         keys.count("attention.key_length", heads == 0 || dim % heads != 0 ? 0 : dim / heads));
  ML_TRY(const std::uint64_t value_dim, keys.count("attention.value_length", head_dim));
  if (value_dim != head_dim) {
    return keys.wrong("attention.value_length", fmt::format("attention.key_length, {}", head_dim),
                      Status::unsupported);
  }
  config["head_dim"] = head_dim;
  ML_TRY(const std::uint64_t rot_dim, read_rotary(keys, arch, head_dim, config));

  const GgufTensor* embedding = keys.files().find(kEmbedding).tensor;
  if (embedding == nullptr) {
    return Error{.status = Status::format, .message = "tensor is missing", .tensor = std::string(kEmbedding)};
  }
  config["vocab_size"] = embedding->rows();
  config["tie_word_embeddings"] = keys.files().find("output.weight").tensor == nullptr;
  ML_CHECK(read_rope(keys, rot_dim, config));
  if (arch.refine != nullptr) ML_CHECK(arch.refine(keys, config));
  return config;
}

// What no key of config.json says, or not so.
Result<void> finish(const GgufKeys& keys, ModelDesc& desc) {
  const GgufFiles& files = keys.files();
  desc.rope.layout = RopeLayout::interleaved;  // map_gguf_tensors() brings the rows into this order
  ML_TRY(const double scale, keys.number("attention.scale", 0));
  const auto narrow = narrow_to_f32(scale);
  if (!narrow || *narrow < 0) return keys.wrong("attention.scale", "a number of 0 or more within float32");
  if (*narrow != 0) desc.attn_scale = *narrow;
  desc.qkv_bias = desc.linear.k_heads == 0 && (files.find("blk.0.attn_q.bias").tensor != nullptr ||
                                               files.find("blk.0.attn_qkv.bias").tensor != nullptr);
  return {};
}

}  // namespace

Result<ModelDesc> describe_gguf(const GgufFiles& files, const GgufArch& arch) {
  const GgufKeys keys(files, arch.name);
  ML_CHECK(refuse_others(keys));
  ML_TRY(json object, make_config(keys, arch));
  std::map<std::string, std::string, std::less<>> names;
  for (const KeyRow& row : kRequired) names.emplace(row.config_key, keys.name(row.key));
  for (const KeyRow& row : kOtherNames) names.emplace(row.config_key, keys.name(row.key));
  names.emplace("vocab_size", fmt::format("number of rows of {}", kEmbedding));
  const Config config = Config::from_object(std::move(object), files.path(), std::move(names));
  ML_TRY(ModelDesc desc, describe_checkpoint(config, *arch.family));
  ML_CHECK(finish(keys, desc));
  return desc;
}

}  // namespace ml
