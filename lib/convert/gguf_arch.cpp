#include "convert/gguf_arch.hpp"

#include "convert/gemma.hpp"
#include "convert/gguf_imatrix.hpp"
#include "convert/llama.hpp"
#include "convert/phi3.hpp"
#include "convert/qwen.hpp"
#include "convert/qwen35.hpp"
#include "convert/smollm3.hpp"
#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

using nlohmann::json;

// Names after "blk.N.", or whole ones.
constexpr std::array kCommon{
    TensorRow{Role::tok_emb, "token_embd.weight"}, TensorRow{Role::final_norm, "output_norm.weight"},
    TensorRow{Role::wcls, "output.weight"},        TensorRow{Role::attn_norm, "attn_norm.weight"},
    TensorRow{Role::wk, "attn_k.weight"},          TensorRow{Role::wv, "attn_v.weight"},
    TensorRow{Role::wo, "attn_output.weight"},     TensorRow{Role::q_norm, "attn_q_norm.weight"},
    TensorRow{Role::k_norm, "attn_k_norm.weight"}, TensorRow{Role::w2, "ffn_down.weight"},
};
constexpr std::array kQueries{
    TensorRow{Role::wq, "attn_q.weight"},
    TensorRow{Role::wq, "attn_qkv.weight", Part::fused_q},
    TensorRow{Role::wk, "attn_qkv.weight", Part::fused_k},
    TensorRow{Role::wv, "attn_qkv.weight", Part::fused_v},
    TensorRow{Role::bq, "attn_q.bias"},
    TensorRow{Role::bq, "attn_qkv.bias", Part::fused_q},
    TensorRow{Role::bk, "attn_k.bias"},
    TensorRow{Role::bk, "attn_qkv.bias", Part::fused_k},
    TensorRow{Role::bv, "attn_v.bias"},
    TensorRow{Role::bv, "attn_qkv.bias", Part::fused_v},
    TensorRow{Role::ffn_norm, "ffn_norm.weight"},
};
constexpr std::array kGates{
    TensorRow{Role::w1, "ffn_gate.weight"},
    TensorRow{Role::w3, "ffn_up.weight"},
};
constexpr std::array kFusedGates{
    TensorRow{Role::w1, "ffn_up.weight", Part::first_half},
    TensorRow{Role::w3, "ffn_up.weight", Part::second_half},
};
constexpr std::array kPostNorms{
    TensorRow{Role::post_attn_norm, "post_attention_norm.weight"},
    TensorRow{Role::post_ffn_norm, "post_ffw_norm.weight"},
};
constexpr std::array kQwen35{
    TensorRow{Role::wq, "attn_q.weight", Part::head_first},
    TensorRow{Role::wg, "attn_q.weight", Part::head_second},
    TensorRow{Role::ffn_norm, "post_attention_norm.weight"},
    TensorRow{Role::lqkv, "attn_qkv.weight"},
    TensorRow{Role::lz, "attn_gate.weight"},
    TensorRow{Role::lb, "ssm_beta.weight"},
    TensorRow{Role::la, "ssm_alpha.weight"},
    TensorRow{Role::lconv, "ssm_conv1d.weight"},
    TensorRow{Role::dt_bias, "ssm_dt.bias"},
    TensorRow{Role::a_log, "ssm_a"},
    TensorRow{Role::lnorm, "ssm_norm.weight"},
    TensorRow{Role::lout, "ssm_out.weight"},
};
constexpr GgufRows kPlain{kCommon, kQueries, kGates};
constexpr GgufRows kWithPostNorms{kCommon, kQueries, kGates, kPostNorms};

// Which layers have a window: an array of flags, or every pattern-th one has none.
Result<void> set_layer_types(const GgufKeys& keys, std::uint64_t default_pattern, json& config) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const std::uint64_t n = config["num_hidden_layers"].get<std::uint64_t>();
  json types = json::array();
  const GgufValue* value = keys.find(kKey);
  if (value != nullptr && value->is_list()) {
    if (value->n != n) return keys.wrong(kKey, fmt::format("an array of {} elements", n));
    for (std::uint64_t i = 0; i < n; ++i) {
      const GgufValue element = value->at(i);
      const auto flag = element.flag();
      const auto count = element.count();
      if (!flag && !count) return keys.wrong(kKey, "an array of bools or a number");
      types.push_back(flag.value_or(count.value_or(0) != 0) ? "sliding_attention" : "full_attention");
    }
  } else {
    ML_TRY(const std::uint64_t pattern, keys.count(kKey, default_pattern));
    for (std::uint64_t i = 0; i < n; ++i) {
      types.push_back(pattern == 0 || i % pattern < pattern - 1 ? "sliding_attention" : "full_attention");
    }
  }
  config["layer_types"] = std::move(types);
  return {};
}

// The files do not say what scores are divided by; the largest model of each family differs from the others.
void set_score_scale(json& config, std::uint64_t layers_of_largest) {
  const bool largest = config["num_hidden_layers"] == layers_of_largest;
  const std::uint64_t heads = config["num_attention_heads"].get<std::uint64_t>();
  config["query_pre_attn_scalar"] =
      largest && heads != 0 ? json(config["hidden_size"].get<std::uint64_t>() / heads) : config["head_dim"];
}

Result<void> refine_llama(const GgufKeys& keys, json& config) {
  // Mistral is written as llama; a window in the file is its own.
  ML_TRY(const std::uint64_t window, keys.count("attention.sliding_window", 0));
  if (window == 0) {
    config["sliding_window"] = nullptr;
  } else {
    config["sliding_window"] = window;
  }
  return {};
}

Result<void> refine_gemma2(const GgufKeys& keys, json& config) {
  set_score_scale(config, 46);
  ML_TRY(const double attention, keys.number("attn_logit_softcapping", 50));
  ML_TRY(const double final, keys.number("final_logit_softcapping", 30));
  config["attn_logit_softcapping"] = attention;
  config["final_logit_softcapping"] = final;
  ML_TRY(const std::uint64_t window, keys.count("attention.sliding_window", 4096));
  config["sliding_window"] = window;
  return set_layer_types(keys, 2, config);
}

Result<void> refine_gemma3(const GgufKeys& keys, json& config) {
  set_score_scale(config, 62);
  ML_TRY(const double final, keys.number("final_logit_softcapping", 0));
  config["final_logit_softcapping"] = final;
  ML_TRY(const double local_theta, keys.number("rope.freq_base_swa", 10000));
  config["rope_local_base_freq"] = local_theta;
  ML_TRY(const std::uint64_t window, keys.count("attention.sliding_window", 0));
  if (window != 0) {
    config["sliding_window"] = window;
    return set_layer_types(keys, 6, config);
  }
  config["sliding_window_pattern"] = 1u;  // every layer sees all
  return {};
}

Result<void> refine_phi3(const GgufKeys& keys, json& config) {
  ML_TRY(const std::uint64_t window, keys.count("attention.sliding_window", 0));
  if (window != 0) config["sliding_window"] = window;
  return {};
}

Result<void> refine_qwen35(const GgufKeys& keys, json& config) {
  constexpr std::string_view kRecurrent = "attention.recurrent_layers";
  if (const GgufValue* value = keys.find(kRecurrent)) {
    if (!value->is_list()) return keys.wrong(kRecurrent, "an array of bools");
    json types = json::array();
    const std::uint64_t n = config["num_hidden_layers"].get<std::uint64_t>();
    for (std::uint64_t i = 0; i < value->n && i < n; ++i) {  // layers of multi-token prediction follow
      const auto flag = value->at(i).flag();
      if (!flag) return keys.wrong(kRecurrent, "an array of bools");
      types.push_back(*flag ? "linear_attention" : "full_attention");
    }
    config["layer_types"] = std::move(types);
  }
  ML_TRY(const std::uint64_t interval, keys.count("full_attention_interval", 4));
  ML_TRY(const std::uint64_t k_heads, keys.count("ssm.group_count", 0));
  ML_TRY(const std::uint64_t v_heads, keys.count("ssm.time_step_rank", 0));
  ML_TRY(const std::uint64_t k_dim, keys.count("ssm.state_size", 0));
  ML_TRY(const std::uint64_t n_values, keys.count("ssm.inner_size", 0));
  ML_TRY(const std::uint64_t conv, keys.count("ssm.conv_kernel", 0));
  if (v_heads == 0 || n_values % v_heads != 0) {
    return keys.wrong("ssm.time_step_rank", fmt::format("a divisor of ssm.inner_size, {}", n_values),
                      Status::shape);
  }
  config["full_attention_interval"] = interval;
  config["linear_num_key_heads"] = k_heads;
  config["linear_num_value_heads"] = v_heads;
  config["linear_key_head_dim"] = k_dim;
  config["linear_value_head_dim"] = n_values / v_heads;
  config["linear_conv_kernel_dim"] = conv;
  return {};
}

constexpr std::array kArchs{
    GgufArch{.name = "llama",
             .family = &kMistralFamily,
             .tensors = kPlain,
             .interleaved = true,
             .refine = refine_llama},
    GgufArch{.name = "qwen2", .family = &kQwen2Family, .tensors = kPlain},
    GgufArch{.name = "qwen3", .family = &kQwen3Family, .tensors = kPlain},
    GgufArch{.name = "qwen35",
             .family = &kQwen35Family,
             .tensors = {kCommon, kGates, kQwen35},
             .tiled_values = true,
             .refine = refine_qwen35},
    GgufArch{.name = "gemma", .family = &kGemmaFamily, .tensors = kPlain},
    GgufArch{.name = "gemma2", .family = &kGemma2Family, .tensors = kWithPostNorms, .refine = refine_gemma2},
    GgufArch{.name = "gemma3", .family = &kGemma3Family, .tensors = kWithPostNorms, .refine = refine_gemma3},
    GgufArch{.name = "smollm3", .family = &kSmolLm3Family, .tensors = kPlain, .interleaved = true},
    GgufArch{.name = "phi3",
             .family = &kPhi3Family,
             .tensors = {kCommon, kQueries, kFusedGates},
             .refine = refine_phi3},
};

}  // namespace

std::optional<Role> find_gguf_role(std::string_view name) {
  for (const GgufArch& arch : kArchs) {
    for (const std::span<const TensorRow> rows : arch.tensors) {
      const auto row =
          std::find_if(rows.begin(), rows.end(), [&](const TensorRow& r) { return r.name == name; });
      if (row != rows.end()) return row->role;
    }
  }
  return std::nullopt;
}

std::string show_gguf_value(const GgufValue& value) {
  if (const auto text = value.text()) return fmt::format("\"{}\"", show_name(*text));
  if (const auto flag = value.flag()) return *flag ? "true" : "false";
  if (const auto count = value.count()) return fmt::format("{}", *count);
  if (const auto number = value.number()) return fmt::format("{}", *number);
  return fmt::format("an array of {} {}", value.n, *gguf_type_name(value.element));
}

std::string GgufKeys::name(std::string_view key) const { return fmt::format("{}.{}", arch_, key); }

const GgufValue* GgufKeys::find(std::string_view key) const { return files_.head().find(name(key)); }

Error GgufKeys::wrong(std::string_view key, std::string_view rule, Status status) const {
  const GgufValue* value = find(key);
  Error error{.status = status,
              .message = fmt::format("{} is {}, must be {}", name(key),
                                     value == nullptr ? "missing" : show_gguf_value(*value), rule)};
  if (value != nullptr) error.offset = value->offset;
  return error;
}

Result<std::uint64_t> GgufKeys::count(std::string_view key, std::uint64_t missing) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing;
  const auto count = value->count();
  if (!count) return wrong(key, "a whole number of 0 or more");
  return *count;
}

Result<double> GgufKeys::number(std::string_view key, double missing) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing;
  const auto number = value->number();
  if (!number || !std::isfinite(*number)) return wrong(key, "a finite number");
  return *number;
}

Result<std::string> GgufKeys::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::string();
  const auto text = value->text();
  if (!text) return wrong(key, "a string");
  return std::string(*text);
}

Result<const GgufArch*> find_gguf_arch(const GgufFile& file) {
  constexpr std::string_view kKey = "general.architecture";
  std::vector<std::string_view> names;
  for (const GgufArch& arch : kArchs) names.push_back(arch.name);
  const std::string rule = fmt::format("one of {}", fmt::join(names, ", "));
  if (is_gguf_imatrix(file))
    return Error{.status = Status::format, .message = "file is an importance matrix, which is no model"};
  const GgufValue* value = file.find(kKey);
  if (value == nullptr || !value->text()) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} is {}, must be {}", kKey,
                                        value == nullptr ? "missing" : show_gguf_value(*value), rule)};
  }
  for (const GgufArch& arch : kArchs) {
    if (arch.name == *value->text()) return &arch;
  }
  return Error{.status = Status::unsupported,
               .message = fmt::format("{} is {}, must be {}", kKey, show_gguf_value(*value), rule),
               .offset = value->offset};
}

}  // namespace ml
