#include "convert/latent.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

constexpr std::uint32_t kHeadDim = 128;
constexpr std::uint32_t kRankStep = 32;
constexpr std::uint32_t kMaxRank = 1024;

Error bad_rank(const Config& config, std::size_t layer, const std::string& message) {
  return {.status = Status::shape,
          .message = fmt::format("mla_ranks[{}] is {}", layer, message),
          .path = config.path()};
}

Result<void> read_ranks(const Config& config, ModelDesc& desc) {
  ML_TRY(const std::vector<std::uint32_t> ranks, config.counts("mla_ranks"));
  if (ranks.size() != desc.layers.size()) {
    return Error{.status = Status::shape,
                 .message = fmt::format("mla_ranks has {} elements, must have one for each of the {} layers",
                                        ranks.size(), desc.layers.size()),
                 .path = config.path()};
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == 0) continue;
    if (ranks[i] % kRankStep != 0 || ranks[i] > kMaxRank) {
      return bad_rank(
          config, i,
          fmt::format("{}, must be 0 or a multiple of {} up to {}", ranks[i], kRankStep, kMaxRank));
    }
    if (desc.layers[i].kind != LayerKind::attention) {
      return bad_rank(config, i, fmt::format("{}, must be 0: the layer has linear attention", ranks[i]));
    }
    desc.layers[i].kind = LayerKind::latent_attention;
    desc.layers[i].rank = ranks[i];
  }
  return {};
}

Result<void> check_heads(const Config& config, const ModelDesc& desc) {
  if (desc.head_dim != kHeadDim || desc.rope.rot_dim != kHeadDim) {
    return Error{
        .status = Status::unsupported,
        .message = fmt::format("head_dim is {} with {} rotated dimensions, latent attention (mla_ranks) "
                               "needs {} of {}",
                               desc.head_dim, desc.rope.rot_dim, kHeadDim, kHeadDim),
        .path = config.path()};
  }
  ML_TRY(const std::uint32_t rope_dim, config.count("mla_rope_dim", 0, UINT32_MAX, kHeadDim));
  if (rope_dim != kHeadDim) return config.wrong("mla_rope_dim", fmt::format("{}", kHeadDim), Status::shape);
  return {};
}

Result<void> read_use(const Config& config, ModelDesc& desc) {
  ML_TRY(desc.latent.max_context, config.count("mla_max_context", 1, UINT32_MAX, desc.max_seq));
  desc.max_seq = std::min(desc.max_seq, desc.latent.max_context);
  ML_TRY(const std::string kv, config.text("mla_kv"));
  if (!config.has("mla_kv")) return {};
  desc.latent.kv = find_kv_type(kv);
  const bool known = desc.latent.kv && *desc.latent.kv != KvType::f32 && *desc.latent.kv != KvType::f16;
  if (!known) return config.wrong("mla_kv", "bf16, q8, fp8 or fp4", Status::unsupported);
  return {};
}

}  // namespace

Result<void> read_latent(const Config& config, ModelDesc& desc) {
  if (!config.has("mla_ranks")) return {};
  ML_CHECK(read_ranks(config, desc));
  if (!desc.has_latent()) return {};
  ML_CHECK(check_heads(config, desc));
  return read_use(config, desc);
}

std::string_view latent_tensor_name(Role role) {
  switch (role) {
    case Role::kv_a_x: return "self_attn.mla.kv_a_x";
    case Role::kv_a_v: return "self_attn.mla.kv_a_v";
    case Role::k_rope_proj: return "self_attn.mla.k_rope_proj";
    case Role::q_rope_mix: return "self_attn.mla.q_rope_mix";
    case Role::q_lat: return "self_attn.mla.q_lat";
    case Role::v_up: return "self_attn.mla.v_up";
    default: return {};
  }
}

}  // namespace ml
