#include "convert/rope.hpp"

#include "util/exact_math.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ml {

namespace {

constexpr std::uint32_t kMaxPositions = 1u << 24;

// null and 0 mean the default, as where transformers writes `get(key) or default`.
Result<float> number_or(const Config& scaling, std::string_view key, float fallback) {
  ML_TRY(const float value, scaling.non_negative(key, 0.0f));
  return value == 0 ? fallback : value;
}

Result<void> read_llama3(const Config& scaling, std::uint32_t max_seq, RopeDesc& rope) {
  ML_TRY(rope.factor, scaling.positive("factor"));
  ML_TRY(rope.low_freq_factor, scaling.positive("low_freq_factor"));
  ML_TRY(rope.high_freq_factor, scaling.positive("high_freq_factor"));
  if (!(rope.high_freq_factor > rope.low_freq_factor))
    return scaling.wrong("high_freq_factor", "above low_freq_factor");
  ML_TRY(rope.orig_max_seq, scaling.count("original_max_position_embeddings", 1, kMaxPositions, max_seq));
  return {};
}

Result<void> read_linear(const Config& scaling, std::uint32_t, RopeDesc& rope) {
  ML_TRY(rope.factor, scaling.positive("factor"));
  return {};
}

// The factor on cos and sin: given, or from the two mscales, or the paper's 0.1 ln f + 1.
Result<float> yarn_attn_factor(const Config& scaling, double factor) {
  if (scaling.has("attention_factor")) return scaling.positive("attention_factor");
  const auto mscale = [factor](double m) { return factor <= 1 ? 1.0 : 0.1 * m * exact_log(factor) + 1.0; };
  ML_TRY(const float m, scaling.non_negative("mscale", 0.0f));
  ML_TRY(const float m_all, scaling.non_negative("mscale_all_dim", 0.0f));
  const auto result = static_cast<float>(m != 0 && m_all != 0 ? mscale(m) / mscale(m_all) : mscale(1));
  if (!std::isfinite(result) || result <= 0)
    return scaling.wrong("mscale",
                         "such that the attention factor, mscale's over mscale_all_dim's, is finite");
  return result;
}

Result<void> read_yarn(const Config& scaling, std::uint32_t max_seq, RopeDesc& rope) {
  ML_TRY(rope.factor, scaling.positive("factor"));
  ML_TRY(rope.low_freq_factor, number_or(scaling, "beta_fast", 32));
  ML_TRY(rope.high_freq_factor, number_or(scaling, "beta_slow", 1));
  if (!(rope.low_freq_factor > rope.high_freq_factor)) return scaling.wrong("beta_fast", "above beta_slow");
  ML_TRY(rope.orig_max_seq, scaling.count("original_max_position_embeddings", 1, kMaxPositions, max_seq));
  ML_TRY(rope.attn_factor, yarn_attn_factor(scaling, rope.factor));
  ML_TRY(const bool truncate, scaling.flag("truncate", true));
  if (!truncate) return scaling.wrong("truncate", "true (a .mlb cannot say otherwise)", Status::unsupported);
  return {};
}

struct Kind {
  std::string_view name;
  RopeType type;
  Result<void> (*read)(const Config& scaling, std::uint32_t max_seq, RopeDesc& rope);
};
constexpr std::array kKinds{
    Kind{"linear", RopeType::linear, read_linear},
    Kind{"llama3", RopeType::llama3, read_llama3},
    Kind{"yarn", RopeType::yarn, read_yarn},
};

}  // namespace

Result<void> read_rope_scaling(const Config& scaling, std::uint32_t max_seq, RopeDesc& rope) {
  ML_TRY(rope.theta, scaling.positive("rope_theta", rope.theta));
  const std::string_view key = scaling.has("rope_type") || !scaling.has("type") ? "rope_type" : "type";
  ML_TRY(const std::string name, scaling.text(key));
  constexpr std::string_view kKnown = "default, linear, llama3 or yarn";
  if (name.empty() && scaling.has("factor")) return scaling.wrong(key, kKnown);
  if (name.empty() || name == "default") return {};
  for (const Kind& kind : kKinds) {
    if (kind.name != name) continue;
    rope.type = kind.type;
    return kind.read(scaling, max_seq, rope);
  }
  return scaling.wrong(key, kKnown, Status::unsupported);
}

Result<std::optional<Config>> find_rope_scaling(const Config& config) {
  ML_TRY(std::optional<Config> scaling, config.object("rope_scaling"));
  if (scaling && !scaling->empty()) return scaling;
  return config.object("rope_parameters");
}

Result<RopeDesc> read_rope(const Config& config, float default_theta, std::uint32_t head_dim,
                           std::uint32_t max_seq) {
  RopeDesc rope;
  rope.layout = RopeLayout::rotate_half;
  rope.rot_dim = head_dim;
  ML_TRY(rope.theta, config.positive("rope_theta", default_theta));
  ML_TRY(const std::optional<Config> scaling, find_rope_scaling(config));
  if (scaling) ML_CHECK(read_rope_scaling(*scaling, max_seq, rope));
  return rope;
}

Result<void> read_partial_rotary(const Config& config, float fallback, ModelDesc& desc) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  ML_TRY(const std::optional<Config> scaling, find_rope_scaling(config));
  const Config& place = scaling && scaling->has(kKey) ? *scaling : config;
  ML_TRY(const float factor, place.positive(kKey, fallback));
  if (!(factor <= 1)) return place.wrong(kKey, "at most 1");
  // In float32, as the factor is: 0.7 of 80 is 56, which in double would be just below.
  desc.rope.rot_dim = static_cast<std::uint32_t>(factor * static_cast<float>(desc.head_dim));
  if (desc.rope.rot_dim == 0 || desc.rope.rot_dim % 2 != 0) {
    return place.wrong(kKey, fmt::format("such that head_dim {} times it is even and above 0", desc.head_dim),
                       Status::shape);
  }
  return {};
}

}  // namespace ml
