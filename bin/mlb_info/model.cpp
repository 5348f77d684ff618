#include "common/text.hpp"
#include "mlb_info/words.hpp"

#include <ml/session.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlb_info {

namespace {

using nlohmann::ordered_json;

template <class Predicate>
std::size_t count_layers(const ml::ModelDesc& desc, Predicate predicate) {
  return static_cast<std::size_t>(std::count_if(desc.layers.begin(), desc.layers.end(), predicate));
}

std::size_t n_linear(const ml::ModelDesc& desc) {
  return count_layers(desc,
                      [](const ml::LayerDesc& layer) { return layer.kind == ml::LayerKind::gated_delta; });
}

std::size_t n_latent(const ml::ModelDesc& desc) {
  return count_layers(desc, [](const ml::LayerDesc& layer) { return layer.rank != 0; });
}

// "latent attention of rank 96 on 2 of 3 layers", "latent attention of ranks 64 to 96 on every layer"
std::string latent_attention(const ml::ModelDesc& desc) {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (const ml::LayerDesc& layer : desc.layers) {
    if (layer.rank == 0) continue;
    least = std::min(least, layer.rank);
    most = std::max(most, layer.rank);
  }
  return fmt::format("latent attention of rank{} {}", least == most ? "" : "s",
                     least == most ? std::to_string(most) : fmt::format("{} to {}", least, most));
}

std::size_t n_sparse(const ml::ModelDesc& desc) {
  return count_layers(desc, [](const ml::LayerDesc& layer) { return layer.sparse; });
}

std::string_view gate_name(ml::GateFunction function) {
  switch (function) {
    case ml::GateFunction::sigmoid: return "sigmoid";
    case ml::GateFunction::softplus: return "softplus";
  }
  return "";
}

std::string_view rope_type_name(ml::RopeType type) {
  switch (type) {
    case ml::RopeType::plain: return "plain";
    case ml::RopeType::llama3: return "llama3";
    case ml::RopeType::linear: return "linear";
    case ml::RopeType::yarn: return "yarn";
  }
  return "";
}

std::string_view activation_name(ml::Activation activation) {
  switch (activation) {
    case ml::Activation::silu: return "silu";
    case ml::Activation::gelu_tanh: return "gelu_tanh";
  }
  return "";
}

std::string_view layout_name(ml::RopeLayout layout) {
  switch (layout) {
    case ml::RopeLayout::interleaved: return "interleaved";
    case ml::RopeLayout::rotate_half: return "rotate_half";
  }
  return "";
}

// "on every layer", "on 3 of 4 layers"
std::string share(std::size_t n, const ml::ModelDesc& desc) {
  return n == desc.layers.size() ? "on every layer"
                                 : fmt::format("on {} of {} layers", n, desc.layers.size());
}

std::string architecture(const ml::ModelDesc& desc) {
  std::vector<std::string> parts;
  if (const std::size_t n = n_latent(desc); n != 0)
    parts.push_back(fmt::format("{} {}", latent_attention(desc), share(n, desc)));
  if (n_latent(desc) == desc.layers.size()) {
    // no layer has keys of heads
  } else if (desc.n_kv_heads == desc.n_heads) {
    parts.push_back("multi-head attention");
  } else if (desc.n_kv_heads == 1) {
    parts.push_back("multi-query attention");
  } else {
    parts.push_back(fmt::format("grouped-query attention, {} heads a group", desc.n_heads / desc.n_kv_heads));
  }
  if (const std::size_t n = n_linear(desc); n != 0) parts.push_back("gated delta rule " + share(n, desc));
  if (desc.sliding_window != 0) {
    const std::size_t n = count_layers(desc, [](const ml::LayerDesc& layer) { return layer.windowed; });
    parts.push_back(fmt::format("window of {} {}", desc.sliding_window, share(n, desc)));
  }
  parts.push_back(desc.activation == ml::Activation::silu ? "SwiGLU" : "GeGLU (tanh)");
  if (desc.qkv_bias) parts.push_back("q, k, v biases");
  if (desc.qk_norm) parts.push_back("q, k norms");
  if (desc.post_norms) parts.push_back("post norms");
  if (n_sparse(desc) != 0) parts.push_back("mixtures of experts " + share(n_sparse(desc), desc));
  if (desc.attn_gate) {
    const bool usual = desc.gate_function == ml::GateFunction::sigmoid;
    parts.push_back(usual ? "attention gate"
                          : fmt::format("attention gate ({})", gate_name(desc.gate_function)));
  }
  if (desc.embed_scale != 0) parts.push_back("embedding x " + float_text(desc.embed_scale));
  if (desc.attn_scale != 0) parts.push_back("scores x " + float_text(desc.attn_scale));
  if (desc.attn_softcap != 0) parts.push_back("scores capped at " + float_text(desc.attn_softcap));
  if (desc.final_softcap != 0) parts.push_back("logits capped at " + float_text(desc.final_softcap));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string dimensions(const ml::ModelDesc& desc) {
  return fmt::format("dim {}, {}, {} of {}, {}, FFN {}, vocabulary {}, context {}", desc.dim,
                     cli::counted(desc.n_layers(), "layer"), cli::counted(desc.n_heads, "head"),
                     desc.head_dim, cli::counted(desc.n_kv_heads, "key-value head"), desc.hidden_dim,
                     desc.vocab, desc.max_seq);
}

std::string linear_attention(const ml::GatedDeltaDesc& linear) {
  return fmt::format("{} key heads of {}, {} value heads of {}, convolution of {}", linear.k_heads,
                     linear.k_dim, linear.v_heads, linear.v_dim, linear.conv);
}

std::string experts(const ml::MixtureDesc& mixture) {
  return fmt::format(
      "{} of width {}, {} a token, and a shared one; {} for values, {} a token; weights sum up to {}",
      mixture.n_experts, mixture.expert_dim, mixture.n_chosen, mixture.n_value_experts,
      mixture.n_chosen_values, float_text(mixture.factor));
}

std::string rope(const ml::ModelDesc& desc) {
  const ml::RopeDesc& rope = desc.rope;
  std::string text = "theta " + float_text(rope.theta);
  if (rope.type != ml::RopeType::plain) {
    text += fmt::format(", {} scaling by {}", rope_type_name(rope.type), rope.factor);
  }
  if (rope.type == ml::RopeType::llama3) {
    text += fmt::format(" (frequency factors {} to {}, trained on {})", rope.low_freq_factor,
                        rope.high_freq_factor, rope.orig_max_seq);
  } else if (rope.type == ml::RopeType::yarn) {
    text += fmt::format(" (beta {} to {}, trained on {}, attention factor {})", rope.low_freq_factor,
                        rope.high_freq_factor, rope.orig_max_seq, rope.attn_factor);
  }
  if (rope.rot_dim != desc.head_dim)
    text += fmt::format(", {} of {} dimensions", rope.rot_dim, desc.head_dim);
  const std::size_t n_local = count_layers(desc, [](const ml::LayerDesc& layer) { return layer.local_rope; });
  if (n_local != 0) text += fmt::format(", theta {} {}", rope.local_theta, share(n_local, desc));
  const std::size_t n_none = count_layers(desc, [](const ml::LayerDesc& layer) { return layer.no_rope; });
  if (n_none != 0) text += ", none " + share(n_none, desc);
  return text + (rope.layout == ml::RopeLayout::interleaved ? ", interleaved pairs" : ", rotate-half pairs");
}

}  // namespace

ml::KvType usual_kv(const ml::ModelDesc& desc) { return ml::default_kv(desc, ml::Activations::q8); }

std::uint64_t kv_bytes_per_token(const ml::ModelDesc& desc) {
  return ml::kv_bytes_a_token(desc, usual_kv(desc));
}

std::uint64_t kv_bytes(const ml::ModelDesc& desc) {
  std::uint64_t sum = 0;
  ml::ModelDesc one = desc;
  for (const ml::LayerDesc& layer : desc.layers) {
    one.layers.assign(1, layer);
    const bool windowed = layer.windowed && desc.sliding_window != 0;
    sum += kv_bytes_per_token(one) * (windowed ? std::min(desc.sliding_window, desc.max_seq) : desc.max_seq);
  }
  return sum;
}

std::uint64_t state_bytes(const ml::ModelDesc& desc) {
  const ml::GatedDeltaDesc& linear = desc.linear;
  const std::uint64_t history = linear.conv == 0 ? 0 : (linear.conv - 1ull) * linear.n_channels();
  return n_linear(desc) * (linear.n_values() * linear.k_dim + history) * sizeof(float);
}

std::vector<std::pair<std::string, std::string>> model_lines(const ml::ModelDesc& desc) {
  std::vector<std::pair<std::string, std::string>> lines{{"architecture", architecture(desc)},
                                                         {"dimensions", dimensions(desc)}};
  if (n_linear(desc) != 0) lines.emplace_back("delta rule", linear_attention(desc.linear));
  if (n_sparse(desc) != 0) lines.emplace_back("experts", experts(desc.mixture));
  lines.emplace_back("RoPE", rope(desc));
  lines.emplace_back("norms",
                     "RMS, epsilon " + float_text(desc.norm_eps) +
                         (desc.norm_groups == 1 ? "" : fmt::format(", {} groups", desc.norm_groups)));
  lines.emplace_back("classifier",
                     desc.shared_classifier ? "the embedding (tied)" : "its own matrix (untied)");
  return lines;
}

ordered_json model_json(const ml::ModelDesc& desc) {
  const ml::RopeDesc& rope = desc.rope;
  ordered_json json = {{"dim", desc.dim},
                       {"n_layers", desc.n_layers()},
                       {"n_heads", desc.n_heads},
                       {"n_kv_heads", desc.n_kv_heads},
                       {"head_dim", desc.head_dim},
                       {"hidden_dim", desc.hidden_dim},
                       {"vocab", desc.vocab},
                       {"max_seq", desc.max_seq},
                       {"norm_eps", float_json(desc.norm_eps)},
                       {"norm_groups", desc.norm_groups},
                       {"shared_classifier", desc.shared_classifier},
                       {"activation", activation_name(desc.activation)},
                       {"sliding_window", desc.sliding_window},
                       {"qkv_bias", desc.qkv_bias},
                       {"qk_norm", desc.qk_norm},
                       {"post_norms", desc.post_norms},
                       {"attn_gate", desc.attn_gate},
                       {"gate_function", desc.attn_gate ? gate_name(desc.gate_function) : ""},
                       {"embed_scale", float_json(desc.embed_scale)},
                       {"attn_scale", float_json(desc.attn_scale)},
                       {"attn_softcap", float_json(desc.attn_softcap)},
                       {"final_softcap", float_json(desc.final_softcap)}};
  json["rope"] = {{"type", rope_type_name(rope.type)},
                  {"layout", layout_name(rope.layout)},
                  {"theta", float_json(rope.theta)},
                  {"factor", float_json(rope.factor)},
                  {"low_freq_factor", float_json(rope.low_freq_factor)},
                  {"high_freq_factor", float_json(rope.high_freq_factor)},
                  {"orig_max_seq", rope.orig_max_seq},
                  {"attn_factor", float_json(rope.attn_factor)},
                  {"local_theta", float_json(rope.local_theta)},
                  {"rot_dim", rope.rot_dim}};
  if (n_linear(desc) != 0) {
    const ml::GatedDeltaDesc& linear = desc.linear;
    json["linear"] = {{"k_heads", linear.k_heads},
                      {"v_heads", linear.v_heads},
                      {"k_dim", linear.k_dim},
                      {"v_dim", linear.v_dim},
                      {"conv", linear.conv}};
  }
  if (n_latent(desc) != 0) {
    ordered_json ranks = ordered_json::array();
    for (const ml::LayerDesc& layer : desc.layers) ranks.push_back(layer.rank);
    json["latent"] = {{"ranks", std::move(ranks)},
                      {"kv", ml::kv_type_name(usual_kv(desc))},
                      {"max_context", desc.latent.max_context}};
  }
  if (n_sparse(desc) != 0) {
    const ml::MixtureDesc& mixture = desc.mixture;
    json["mixture"] = {{"n_experts", mixture.n_experts},
                       {"n_chosen", mixture.n_chosen},
                       {"expert_dim", mixture.expert_dim},
                       {"n_value_experts", mixture.n_value_experts},
                       {"n_chosen_values", mixture.n_chosen_values},
                       {"factor", float_json(mixture.factor)}};
  }
  ordered_json layers = ordered_json::array();
  for (const ml::LayerDesc& layer : desc.layers) {
    std::vector<std::string> flags;
    if (layer.kind == ml::LayerKind::gated_delta) flags.push_back("linear");
    if (layer.kind == ml::LayerKind::latent_attention) flags.push_back("latent");
    if (layer.windowed) flags.push_back("window");
    if (layer.local_rope) flags.push_back("local_rope");
    if (layer.no_rope) flags.push_back("no_rope");
    if (layer.sparse) flags.push_back("sparse");
    layers.push_back(flags);
  }
  json["layers"] = std::move(layers);
  return json;
}

}  // namespace mlb_info
