#include "formats/mlb_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

constexpr std::uint8_t kWindow = 1;
constexpr std::uint8_t kLocalRope = 2;
constexpr std::uint8_t kNoRope = 4;
constexpr std::uint8_t kLinear = 8;

// "must divide n_heads ({n_heads})" -> "must divide n_heads (4)"
std::string fill_in(const MlbHeader& header, std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) return result;
    const std::size_t close = text.find('}', open);
    const MlbField* field = find_mlb_field(text.substr(open + 1, close - open - 1));
    if (field != nullptr) result += mlb_field_value(header, *field);
    text.remove_prefix(close + 1);
  }
}

std::uint64_t offset_of(const MlbHeader& header, const MlbField& field) {
  if (field.type != MlbType::zeros) return field.offset;
  const auto wrong = std::find_if(header.padding.begin(), header.padding.end(),
                                  [](std::byte b) { return b != std::byte{0}; });
  return field.offset + static_cast<std::uint64_t>(wrong - header.padding.begin());
}

bool any_windowed(const ModelDesc& desc) {
  return desc.sliding_window != 0 && std::any_of(desc.layers.begin(), desc.layers.end(),
                                                 [](const LayerDesc& layer) { return layer.windowed; });
}

}  // namespace

std::vector<Error> mlb_header_defects(const MlbHeader& header) {
  std::vector<Error> defects;
  for (const MlbRule& rule : mlb_rules()) {
    if (rule.holds(header)) continue;
    const MlbField& field = *find_mlb_field(rule.field);
    defects.push_back({.status = rule.status,
                       .message = fmt::format("{} is {}, {}", rule.field, mlb_field_value(header, field),
                                              fill_in(header, rule.requirement)),
                       .offset = offset_of(header, field)});
    if (rule.field == "magic" || rule.field == "version") break;  // the rest means nothing
  }
  return defects;
}

MlbStorage mlb_storage(const MlbHeader& header) {
  return {.type = header.wtype == 2 ? Encoding::q4_0 : Encoding::q8_0,
          .scales = header.scale_f16 != 0 ? ScaleType::f16 : ScaleType::f32,
          .q8_mask = header.q8_mask};
}

ModelDesc mlb_desc(const MlbHeader& h, std::span<const std::uint8_t> flags) {
  ModelDesc desc;
  desc.dim = h.dim;
  desc.n_heads = h.n_heads;
  desc.n_kv_heads = h.n_kv_heads;
  desc.head_dim = h.head_dim != 0 ? h.head_dim : h.dim / h.n_heads;
  desc.hidden_dim = h.hidden_dim;
  desc.vocab = h.vocab;
  desc.max_seq = h.max_seq;
  desc.norm_eps = h.norm_eps;
  desc.shared_classifier = h.shared_classifier != 0;
  desc.rope = {.type = static_cast<RopeType>(h.rope_type),
               .layout = RopeLayout::interleaved,
               .theta = h.rope_theta,
               .factor = h.rope_factor,
               .low_freq_factor = h.rope_low_freq_factor,
               .high_freq_factor = h.rope_high_freq_factor,
               .orig_max_seq = h.rope_orig_max_seq,
               .attn_factor = h.rope_attn_factor,
               .local_theta = h.rope_local_theta,
               .rot_dim = h.rot_dim != 0 ? h.rot_dim : desc.head_dim};
  desc.activation = h.act == 1 ? Activation::gelu_tanh : Activation::silu;
  desc.qkv_bias = h.qkv_bias != 0;
  desc.qk_norm = h.qk_norm != 0;
  desc.post_norms = h.post_norms != 0;
  desc.attn_gate = h.attn_gate != 0;
  desc.embed_scale = h.embed_scale;
  desc.attn_scale = h.attn_scale;
  desc.attn_softcap = h.attn_softcap;
  desc.final_softcap = h.final_softcap;
  desc.linear = {.k_heads = h.lin_k_heads,
                 .v_heads = h.lin_v_heads,
                 .k_dim = h.lin_k_dim,
                 .v_dim = h.lin_v_dim,
                 .conv = h.lin_conv};
  desc.layers.resize(h.n_layers);
  for (std::uint32_t i = 0; i < h.n_layers; ++i) {
    LayerDesc& layer = desc.layers[i];
    const std::uint8_t bits = flags.empty() ? kWindow : flags[i];
    layer.kind = (bits & kLinear) != 0 ? LayerKind::gated_delta : LayerKind::attention;
    layer.windowed = (bits & kWindow) != 0 && h.sliding_window != 0;
    layer.local_rope = (bits & kLocalRope) != 0;
    layer.no_rope = (bits & kNoRope) != 0;
  }
  desc.sliding_window = h.sliding_window;
  if (!any_windowed(desc)) desc.sliding_window = 0;
  return desc;
}

std::vector<std::uint8_t> make_mlb_layer_flags(const ModelDesc& desc) {
  const std::uint8_t usual = any_windowed(desc) ? kWindow : 0;
  std::vector<std::uint8_t> flags;
  for (const LayerDesc& layer : desc.layers) {
    int bits = kLinear;
    if (layer.kind == LayerKind::attention) {
      bits = (layer.windowed && desc.sliding_window != 0 ? kWindow : 0) |
             (layer.local_rope ? kLocalRope : 0) | (layer.no_rope ? kNoRope : 0);
    }
    flags.push_back(static_cast<std::uint8_t>(bits));
  }
  if (std::all_of(flags.begin(), flags.end(), [usual](std::uint8_t bits) { return bits == usual; }))
    return {};
  return flags;
}

Result<MlbHeader> make_mlb_header(const ModelDesc& desc, const MlbStorage& storage) {
  if (desc.layers.size() > UINT32_MAX) return Error{.status = Status::shape, .message = "too many layers"};
  // In the file 0 would mean another size.
  if (desc.head_dim == 0) return Error{.status = Status::shape, .message = "head_dim is 0, must be set"};
  if (desc.has_latent()) {
    return Error{.status = Status::unsupported,
                 .message = "latent attention (mla_ranks) has no place in a .mlb or .mog"};
  }
  if (std::any_of(desc.layers.begin(), desc.layers.end(),
                  [](const LayerDesc& layer) { return layer.sparse; })) {
    return Error{.status = Status::unsupported,
                 .message = "mixtures of experts have no place in a .mlb or .mog"};
  }
  if (desc.norm_groups != 1 || desc.gate_function != GateFunction::sigmoid) {
    return Error{.status = Status::unsupported,
                 .message = "norms by groups and softplus gates have no place in a .mlb or .mog"};
  }
  if (desc.rope.rot_dim == 0) return Error{.status = Status::shape, .message = "rot_dim is 0, must be set"};
  MlbHeader h;
  h.dim = desc.dim;
  h.n_layers = desc.n_layers();
  h.n_heads = desc.n_heads;
  h.n_kv_heads = desc.n_kv_heads;
  h.hidden_dim = desc.hidden_dim;
  h.vocab = desc.vocab;
  h.max_seq = desc.max_seq;
  h.rope_theta = desc.rope.theta;
  h.norm_eps = desc.norm_eps;
  h.wtype = storage.type == Encoding::q4_0 ? 2 : 1;
  h.shared_classifier = desc.shared_classifier;
  h.rope_type = static_cast<std::uint32_t>(desc.rope.type);
  h.rope_factor = desc.rope.factor;
  h.rope_low_freq_factor = desc.rope.low_freq_factor;
  h.rope_high_freq_factor = desc.rope.high_freq_factor;
  h.rope_orig_max_seq = desc.rope.orig_max_seq;
  h.q8_mask = storage.q8_mask;
  h.qkv_bias = desc.qkv_bias;
  const bool usual_head = desc.n_heads != 0 && std::uint64_t(desc.head_dim) * desc.n_heads == desc.dim;
  h.head_dim = usual_head ? 0 : desc.head_dim;
  h.qk_norm = desc.qk_norm;
  h.rope_attn_factor = desc.rope.attn_factor;
  h.sliding_window = any_windowed(desc) ? desc.sliding_window : 0;
  h.layer_flags = !make_mlb_layer_flags(desc).empty();
  h.rope_local_theta = desc.rope.local_theta;
  h.act = desc.activation == Activation::gelu_tanh;
  h.post_norms = desc.post_norms;
  h.embed_scale = desc.embed_scale;
  h.attn_scale = desc.attn_scale;
  h.scale_f16 = storage.scales == ScaleType::f16;
  h.attn_softcap = desc.attn_softcap;
  h.final_softcap = desc.final_softcap;
  h.rot_dim = desc.rope.rot_dim == desc.head_dim ? 0 : desc.rope.rot_dim;
  h.attn_gate = desc.attn_gate;
  h.lin_k_heads = desc.linear.k_heads;
  h.lin_v_heads = desc.linear.v_heads;
  h.lin_k_dim = desc.linear.k_dim;
  h.lin_v_dim = desc.linear.v_dim;
  h.lin_conv = desc.linear.conv;
  std::vector<Error> defects = mlb_header_defects(h);
  if (defects.empty()) defects = mlb_layer_defects(h, make_mlb_layer_flags(desc));
  if (defects.empty()) return h;
  Error first = std::move(defects.front());
  first.offset.reset();  // there is no file yet
  return first;
}

}  // namespace ml
