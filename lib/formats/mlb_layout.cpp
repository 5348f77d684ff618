#include "formats/mlb_layout.hpp"

#include "util/checked.hpp"

#include <fmt/format.h>

namespace ml {

namespace {

// Appends arrays one after the other.
class Placer {
 public:
  Placer(const ModelDesc& desc, const MlbStorage& storage, std::uint64_t start,
         std::optional<std::uint64_t> file_size, std::vector<MlbArray>& arrays)
      : desc_(desc), storage_(storage), next_(start), file_size_(file_size), arrays_(arrays) {}

  std::optional<Error> place(Role role, std::uint32_t layer) {
    MlbArray array{
        .role = role, .layer = layer, .encoding = mlb_encoding(role, storage_, desc_.shared_classifier)};
    const Shape shape = role_shape(desc_, role);
    array.rows = shape.rows;
    array.cols = shape.cols;
    const EncodingInfo& info = encoding_info(array.encoding);
    const Checked n_blocks = Checked(shape.rows) * (shape.cols / info.block_weights);
    const Checked n_bytes = n_blocks * info.block_bytes;
    Checked end = next_ + n_bytes;
    array.offset = next_.get().value_or(0);
    array.n_bytes = n_bytes.get().value_or(0);
    if (info.quantized) {
      array.scale_type = storage_.scales;
      const Checked scales = end.round_up(kMlbAlignment);
      const Checked n_scale_bytes = n_blocks * scale_bytes(storage_.scales);
      array.scale_offset = scales.get().value_or(0);
      array.n_scale_bytes = n_scale_bytes.get().value_or(0);
      end = scales + n_scale_bytes;
    }
    next_ = end.round_up(kMlbAlignment);
    if (next_.overflowed()) {
      return Error{
          .status = Status::format, .message = "size does not fit into 64 bits", .tensor = array.name()};
    }
    if (file_size_ && *end.get() > *file_size_) {
      return Error{.status = Status::format,
                   .message = fmt::format("file is {} bytes, tensor {} needs {}", *file_size_, array.name(),
                                          *end.get()),
                   .offset = *file_size_};
    }
    arrays_.push_back(array);
    return std::nullopt;
  }

 private:
  const ModelDesc& desc_;
  const MlbStorage& storage_;
  Checked next_;
  std::optional<std::uint64_t> file_size_;
  std::vector<MlbArray>& arrays_;
};

}  // namespace

std::uint32_t mlb_q8_class(Role role) {
  switch (role) {
    case Role::tok_emb: return 1;
    case Role::wcls: return 2;
    case Role::wq:
    case Role::wk:
    case Role::wg:
    case Role::lqkv: return 4;
    case Role::wv:
    case Role::lz: return 8;
    case Role::wo:
    case Role::lout: return 16;
    case Role::w1:
    case Role::w3: return 32;
    case Role::w2: return 64;
    case Role::attn_norm:
    case Role::bq:
    case Role::bk:
    case Role::bv:
    case Role::q_norm:
    case Role::k_norm:
    case Role::lb:
    case Role::la:
    case Role::lconv:
    case Role::dt_bias:
    case Role::a_log:
    case Role::lnorm:
    case Role::kv_a_x:
    case Role::kv_a_v:
    case Role::k_rope_proj:
    case Role::q_rope_mix:
    case Role::q_lat:
    case Role::v_up:
    case Role::v_router:
    case Role::v_router_bias:
    case Role::v_expert:
    case Role::ffn_norm:
    case Role::router:
    case Role::router_bias:
    case Role::expert_w1:
    case Role::expert_w2:
    case Role::expert_w3:
    case Role::shared_w1:
    case Role::shared_w2:
    case Role::shared_w3:
    case Role::post_attn_norm:
    case Role::post_ffn_norm:
    case Role::final_norm: return 0;
  }
  return 0;
}

Encoding mlb_encoding(Role role, const MlbStorage& storage, bool shared_classifier) {
  if (!is_matrix(role)) return Encoding::f32;
  if (role == Role::lb || role == Role::la) return Encoding::q8_0;
  std::uint32_t classes = mlb_q8_class(role);
  if (role == Role::tok_emb && shared_classifier) classes |= mlb_q8_class(Role::wcls);
  return (storage.q8_mask & classes) != 0 ? Encoding::q8_0 : storage.type;
}

std::optional<Error> lay_out_mlb(const ModelDesc& desc, const MlbStorage& storage, bool flags,
                                 std::optional<std::uint64_t> file_size, std::vector<MlbArray>& arrays) {
  const std::uint64_t n_flags = flags ? desc.layers.size() : 0;
  const std::uint64_t start = *Checked(kMlbHeaderBytes + n_flags).round_up(kMlbAlignment).get();
  Placer placer(desc, storage, start, file_size, arrays);
  if (auto error = placer.place(Role::tok_emb, kNoLayer)) return error;
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
    for (const Role role : layer_roles(desc, desc.layers[layer])) {
      if (auto error = placer.place(role, layer)) return error;
    }
  }
  if (auto error = placer.place(Role::final_norm, kNoLayer)) return error;
  if (!desc.shared_classifier) return placer.place(Role::wcls, kNoLayer);
  return std::nullopt;
}

TensorView array_view(std::span<const std::byte> bytes, const MlbArray& array) {
  return {.encoding = array.encoding,
          .scale_type = array.scale_type,
          .rows = array.rows,
          .cols = array.cols,
          .data = bytes.subspan(array.offset, array.n_bytes),
          .scales = bytes.subspan(array.scale_offset, array.n_scale_bytes)};
}

}  // namespace ml
