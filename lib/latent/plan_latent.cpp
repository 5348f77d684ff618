#include <ml/latent.hpp>

#include "convert/latent.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

namespace ml {

namespace {

constexpr std::uint32_t kHeadDim = 128;
constexpr std::uint32_t kRankStep = 32;
constexpr std::uint32_t kMaxRank = 1024;

Error no_latent_form(std::string why) {
  return {.status = Status::unsupported, .message = "no latent form: " + std::move(why)};
}

Result<std::vector<std::uint32_t>> ranks_of_layers(const ModelDesc& desc,
                                                   std::span<const std::uint32_t> ranks) {
  if (ranks.size() != 1 && ranks.size() != desc.n_layers()) {
    return Error{.status = Status::arg,
                 .message = fmt::format("{} ranks, must be one, or one for each of the {} layers",
                                        ranks.size(), desc.n_layers())};
  }
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    const std::uint32_t rank = ranks[ranks.size() == 1 ? 0 : i];
    if (rank % kRankStep != 0 || rank > kMaxRank) {
      return Error{
          .status = Status::arg,
          .message = fmt::format("rank is {}, must be a multiple of {} up to {}", rank, kRankStep, kMaxRank)};
    }
    all.push_back(rank);
  }
  return all;
}

// Keys must be linear in what the layer reads.
Result<void> check_model(const ModelDesc& desc) {
  if (desc.head_dim != kHeadDim || desc.rope.rot_dim != kHeadDim) {
    return no_latent_form(fmt::format("heads have {} dimensions, {} of them rotated, must be {} and {}",
                                      desc.head_dim, desc.rope.rot_dim, kHeadDim, kHeadDim));
  }
  if (desc.qk_norm) return no_latent_form("keys are normalized (k_norm), which is not linear");
  if (desc.qkv_bias) return no_latent_form("keys and values have biases");
  if (desc.rope.layout != RopeLayout::rotate_half) return no_latent_form("RoPE rotates interleaved pairs");
  return {};
}

Result<std::string> prefix_of(const Model& model, std::uint32_t layer, Role role, std::string_view end) {
  const Tensor* tensor = model.find(role, layer);
  if (tensor != nullptr && tensor->name.ends_with(end))
    return tensor->name.substr(0, tensor->name.size() - end.size());
  return no_latent_form(fmt::format("layer {} has no {} of its own", layer, end));
}

void add_layer(const ModelDesc& desc, std::uint32_t layer, const std::string& prefix,
               LatentConversion& plan) {
  ModelDesc latent = desc;
  latent.layers[layer].rank = plan.ranks[layer];
  for (const Role role :
       {Role::kv_a_x, Role::kv_a_v, Role::k_rope_proj, Role::q_rope_mix, Role::q_lat, Role::v_up}) {
    if (role == Role::kv_a_v && !desc.layers[layer].sparse) continue;
    const Shape shape = role_shape(latent, role, layer);
    LatentTensor tensor{.name = prefix + std::string(latent_tensor_name(role)), .role = role, .layer = layer};
    if (is_head_map(role)) {
      tensor.shape = {desc.n_heads, shape.rows / desc.n_heads, shape.cols};
    } else {
      tensor.shape = {shape.rows, shape.cols};
    }
    plan.tensors.push_back(std::move(tensor));
  }
}

}  // namespace

Result<LatentConversion> plan_latent(const Model& model, std::span<const std::uint32_t> ranks) {
  const ModelDesc& desc = model.desc();
  if (desc.has_latent()) return no_latent_form("the model has latent attention already (mla_ranks)");
  LatentConversion plan;
  ML_TRY(plan.ranks, ranks_of_layers(desc, ranks));
  ML_CHECK(check_model(desc));
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (plan.ranks[i] == 0) continue;
    if (desc.layers[i].kind != LayerKind::attention)
      return no_latent_form(fmt::format("layer {} has linear attention, its rank must be 0", i));
    ML_TRY(const std::string prefix, prefix_of(model, i, Role::wk, "self_attn.k_proj.weight"));
    plan.dropped.push_back(model.find(Role::wk, i)->name);
    if (!desc.layers[i].sparse) {
      ML_CHECK(prefix_of(model, i, Role::wv, "self_attn.v_proj.weight"));
      plan.dropped.push_back(model.find(Role::wv, i)->name);
    }
    add_layer(desc, i, prefix, plan);
  }
  if (plan.tensors.empty())
    return Error{.status = Status::arg, .message = "every rank is 0: nothing is to be converted"};
  return plan;
}

}  // namespace ml
