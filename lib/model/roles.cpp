#include <ml/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace ml {

namespace {

constexpr std::array<std::string_view, kRoles> kNames{
    "tok_emb",
    "attn_norm",
    "wq",
    "wk",
    "wv",
    "wo",
    "wg",
    "bq",
    "bk",
    "bv",
    "q_norm",
    "k_norm",
    "lqkv",
    "lz",
    "lb",
    "la",
    "lconv",
    "dt_bias",
    "A_log",
    "lnorm",
    "lout",
    "ffn_norm",
    "w1",
    "w2",
    "w3",
    "post_attn_norm",
    "post_ffn_norm",
    "final_norm",
    "wcls",
    "kv_a_x",
    "kv_a_v",
    "k_rope_proj",
    "q_rope_mix",
    "q_lat",
    "v_up",
    "v_router",
    "v_router_bias",
    "v_expert",
    "router",
    "router_bias",
    "expert_w1",
    "expert_w2",
    "expert_w3",
    "shared_w1",
    "shared_w2",
    "shared_w3",
};

// In the order of the enum.
constexpr std::array<std::string_view, 6> kKvNames{"f32", "f16", "q8", "bf16", "fp8", "fp4"};

}  // namespace

std::string_view kv_type_name(KvType type) { return kKvNames[static_cast<std::size_t>(type)]; }

std::optional<KvType> find_kv_type(std::string_view name) {
  const auto found = std::find(kKvNames.begin(), kKvNames.end(), name);
  if (found == kKvNames.end()) return {};
  return static_cast<KvType>(found - kKvNames.begin());
}

std::string_view role_name(Role role) { return kNames[static_cast<std::size_t>(role)]; }

std::string tensor_name(Role role, std::uint32_t layer) {
  return layer == kNoLayer ? std::string(role_name(role))
                           : fmt::format("layers.{}.{}", layer, role_name(role));
}

bool is_expert(Role role) {
  return role == Role::v_expert || role == Role::expert_w1 || role == Role::expert_w2 ||
         role == Role::expert_w3;
}

std::uint32_t role_count(const ModelDesc& desc, Role role) {
  if (!is_expert(role)) return 1;
  return role == Role::v_expert ? desc.mixture.n_value_experts : desc.mixture.n_experts;
}

Shape role_shape(const ModelDesc& desc, Role role, std::uint32_t layer) {
  const GatedDeltaDesc& linear = desc.linear;
  const MixtureDesc& mixture = desc.mixture;
  const std::uint64_t rank = layer < desc.layers.size() ? desc.layers[layer].rank : 0;
  const auto when = [](bool present, std::uint64_t rows, std::uint64_t cols) {
    return present ? Shape{rows, cols} : Shape{};
  };
  switch (role) {
    case Role::tok_emb: return {desc.vocab, desc.dim};
    case Role::wcls: return when(!desc.shared_classifier, desc.vocab, desc.dim);
    case Role::attn_norm:
    case Role::ffn_norm:
    case Role::final_norm: return {1, desc.dim};
    case Role::post_attn_norm:
    case Role::post_ffn_norm: return when(desc.post_norms, 1, desc.dim);
    case Role::wq: return {desc.q_dim(), desc.dim};
    case Role::wg: return when(desc.attn_gate, desc.q_dim(), desc.dim);
    case Role::wk:
    case Role::wv: return {desc.kv_dim(), desc.dim};
    case Role::wo: return {desc.dim, desc.q_dim()};
    case Role::bq: return when(desc.qkv_bias, 1, desc.q_dim());
    case Role::bk:
    case Role::bv: return when(desc.qkv_bias, 1, desc.kv_dim());
    case Role::q_norm:
    case Role::k_norm: return when(desc.qk_norm, 1, desc.head_dim);
    case Role::w1:
    case Role::w3: return {desc.hidden_dim, desc.dim};
    case Role::w2: return {desc.dim, desc.hidden_dim};
    case Role::lqkv: return {linear.n_channels(), desc.dim};
    case Role::lz: return {linear.n_values(), desc.dim};
    case Role::lb:
    case Role::la: return {linear.v_heads, desc.dim};
    case Role::lconv: return {linear.n_channels(), linear.conv};
    case Role::dt_bias:
    case Role::a_log: return {1, linear.v_heads};
    case Role::lnorm: return {1, linear.v_dim};
    case Role::lout: return {desc.dim, linear.n_values()};
    case Role::kv_a_x: return when(rank != 0, rank, desc.dim);
    case Role::kv_a_v: return when(rank != 0 && desc.layers[layer].sparse, rank, desc.kv_dim());
    case Role::k_rope_proj: return when(rank != 0, desc.head_dim, desc.dim);
    case Role::q_rope_mix: return when(rank != 0, desc.q_dim(), desc.head_dim);
    case Role::q_lat: return when(rank != 0, desc.n_heads * rank, desc.head_dim);
    case Role::v_up: return when(rank != 0, desc.q_dim(), rank);
    case Role::v_router: return {mixture.n_value_experts, desc.dim};
    case Role::v_router_bias: return {1, mixture.n_value_experts};
    case Role::v_expert: return {desc.kv_dim(), desc.dim};
    case Role::router: return {mixture.n_experts, desc.dim};
    case Role::router_bias: return {1, mixture.n_experts};
    case Role::expert_w1:
    case Role::expert_w3:
    case Role::shared_w1:
    case Role::shared_w3: return {mixture.expert_dim, desc.dim};
    case Role::expert_w2:
    case Role::shared_w2: return {desc.dim, mixture.expert_dim};
  }
  return {};
}

std::vector<Role> layer_roles(const ModelDesc& desc, const LayerDesc& layer) {
  std::vector<Role> roles;
  const auto add = [&roles](std::initializer_list<Role> more) {
    for (const Role role : more) roles.push_back(role);
  };
  add({Role::attn_norm});
  switch (layer.kind) {
    case LayerKind::attention:
      add({Role::wq, Role::wk});
      layer.sparse ? add({Role::v_router, Role::v_router_bias, Role::v_expert}) : add({Role::wv});
      add({Role::wo});
      if (desc.attn_gate) add({Role::wg});
      if (desc.qkv_bias) add({Role::bq, Role::bk, Role::bv});
      if (desc.qk_norm) add({Role::q_norm, Role::k_norm});
      break;
    case LayerKind::gated_delta:
      add({Role::lqkv, Role::lz, Role::lb, Role::la, Role::lconv, Role::dt_bias, Role::a_log, Role::lnorm,
           Role::lout});
      break;
    case LayerKind::latent_attention:
      add({Role::wq});
      if (layer.sparse) add({Role::v_router, Role::v_router_bias, Role::v_expert, Role::kv_a_v});
      add({Role::wo});
      if (desc.attn_gate) add({Role::wg});
      if (desc.qkv_bias) add({Role::bq});
      if (desc.qk_norm) add({Role::q_norm});
      add({Role::kv_a_x, Role::k_rope_proj, Role::q_rope_mix, Role::q_lat, Role::v_up});
      break;
  }
  add({Role::ffn_norm});
  if (layer.sparse) {
    add({Role::router, Role::router_bias, Role::expert_w1, Role::expert_w2, Role::expert_w3, Role::shared_w1,
         Role::shared_w2, Role::shared_w3});
  } else {
    add({Role::w1, Role::w2, Role::w3});
  }
  if (desc.post_norms) add({Role::post_attn_norm, Role::post_ffn_norm});
  return roles;
}

bool is_matrix(Role role) {
  switch (role) {
    case Role::tok_emb:
    case Role::wq:
    case Role::wk:
    case Role::wv:
    case Role::wo:
    case Role::wg:
    case Role::lqkv:
    case Role::lz:
    case Role::lb:
    case Role::la:
    case Role::lout:
    case Role::kv_a_x:
    case Role::kv_a_v:
    case Role::k_rope_proj:
    case Role::q_rope_mix:
    case Role::q_lat:
    case Role::v_up:
    case Role::w1:
    case Role::w2:
    case Role::w3:
    case Role::v_router:
    case Role::v_expert:
    case Role::router:
    case Role::expert_w1:
    case Role::expert_w2:
    case Role::expert_w3:
    case Role::shared_w1:
    case Role::shared_w2:
    case Role::shared_w3:
    case Role::wcls: return true;
    case Role::attn_norm:
    case Role::bq:
    case Role::bk:
    case Role::bv:
    case Role::q_norm:
    case Role::k_norm:
    case Role::lconv:
    case Role::dt_bias:
    case Role::a_log:
    case Role::lnorm:
    case Role::v_router_bias:
    case Role::router_bias:
    case Role::ffn_norm:
    case Role::post_attn_norm:
    case Role::post_ffn_norm:
    case Role::final_norm: return false;
  }
  return false;
}

bool is_head_map(Role role) { return role == Role::q_rope_mix || role == Role::q_lat || role == Role::v_up; }

}  // namespace ml
