#include <ml/session.hpp>

#include <fmt/format.h>

namespace ml {

namespace {

template <class Value>
Error unsupported(const char* field, Value value) {
  return {
      .status = Status::unsupported,
      .message = fmt::format("{} is {}, which this version reads and writes but cannot run", field, value)};
}

}  // namespace

Result<void> check_runnable(const ModelDesc& desc) {
  if (desc.qkv_bias) return unsupported("qkv_bias", 1);
  if (desc.qk_norm) return unsupported("qk_norm", 1);
  if (desc.post_norms) return unsupported("post_norms", 1);
  if (desc.attn_gate) return unsupported("attn_gate", 1);
  if (desc.activation != Activation::silu) return unsupported("act", "GELU");
  if (desc.embed_scale != 0 && desc.embed_scale != 1) return unsupported("embed_scale", desc.embed_scale);
  if (desc.attn_softcap != 0) return unsupported("attn_softcap", desc.attn_softcap);
  if (desc.final_softcap != 0) return unsupported("final_softcap", desc.final_softcap);
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    const LayerDesc& layer = desc.layers[i];
    if (layer.kind == LayerKind::gated_delta) return unsupported("the kind of a layer", "linear attention");
    if (layer.local_rope) return unsupported("the RoPE base of a layer", "rope_local_theta");
    if (layer.no_rope) return unsupported("the RoPE of a layer", "left out");
  }
  return {};
}

}  // namespace ml
