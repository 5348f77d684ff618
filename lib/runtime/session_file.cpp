#include "runtime/session_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string>

namespace ml {

namespace {

constexpr std::size_t kSample = 1024;  // bytes from either end of a tensor's data

void append_ends(std::string& text, std::span<const std::byte> bytes) {
  const std::size_t n = std::min(kSample, bytes.size());
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  text.append(data, n);
  text.append(data + bytes.size() - n, n);
}

}  // namespace

std::uint64_t model_fingerprint(const Model& model) {
  const ModelDesc& desc = model.desc();
  const RopeDesc& rope = desc.rope;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} ", desc.dim, desc.n_layers(), desc.n_heads,
      desc.n_kv_heads, desc.head_dim, desc.hidden_dim, desc.vocab, desc.norm_eps, desc.sliding_window,
      desc.embed_scale, desc.attn_scale, desc.attn_softcap, desc.final_softcap,
      static_cast<int>(desc.activation), desc.linear.n_channels(), desc.linear.k_dim, desc.linear.conv);
  text +=
      fmt::format("{} {} {} {} {} {} {} {} {} {} ", static_cast<int>(rope.type),
                  static_cast<int>(rope.layout), rope.theta, rope.factor, rope.low_freq_factor,
                  rope.high_freq_factor, rope.orig_max_seq, rope.attn_factor, rope.local_theta, rope.rot_dim);
  for (const LayerDesc& layer : desc.layers) {
    text += fmt::format("{}{}{}{} ", static_cast<int>(layer.kind), int(layer.windowed), int(layer.local_rope),
                        int(layer.no_rope));
    if (layer.rank != 0) text += fmt::format("{} ", layer.rank);
    if (layer.sparse) text += "sparse ";
  }
  if (desc.mixture.n_experts != 0) {
    text += fmt::format("{} {} {} {} ", desc.mixture.n_chosen, desc.mixture.n_chosen_values,
                        desc.mixture.factor, desc.norm_groups);
  }
  // Left out where they say what most models do, as in sessions of before.
  if (desc.mixture.n_experts == 0 && desc.norm_groups != 1)
    text += fmt::format("norms {} ", desc.norm_groups);
  if (desc.gate_function != GateFunction::sigmoid)
    text += fmt::format("gate {} ", static_cast<int>(desc.gate_function));
  for (const Tensor& tensor : model.tensors()) {
    text += fmt::format("{} {} {} ", tensor_name(tensor.role, tensor.layer),
                        encoding_info(tensor.view.encoding).name, scale_type_name(tensor.view.scale_type));
    append_ends(text, tensor.view.data);
    append_ends(text, tensor.view.scales);
  }
  return XXH3_64bits(text.data(), text.size());
}

std::uint32_t first_visible(const ModelDesc& desc, std::uint32_t layer, std::uint32_t position) {
  const bool windowed = desc.layers[layer].windowed && desc.sliding_window != 0;
  return windowed && position + 1 > desc.sliding_window ? position + 1 - desc.sliding_window : 0;
}

}  // namespace ml
