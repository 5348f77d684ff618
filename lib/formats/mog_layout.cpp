#include "formats/mog_layout.hpp"

#include "formats/mlb_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ml {

namespace {

struct SlotName {
  Role role;
  std::string_view name;
};

constexpr std::array kLayerSlots{
    SlotName{Role::attn_norm, "attn_norm"},
    SlotName{Role::wq, "q_proj"},
    SlotName{Role::wk, "k_proj"},
    SlotName{Role::wv, "v_proj"},
    SlotName{Role::wo, "o_proj"},
    SlotName{Role::wg, "gate_attn"},
    SlotName{Role::bq, "q_bias"},
    SlotName{Role::bk, "k_bias"},
    SlotName{Role::bv, "v_bias"},
    SlotName{Role::q_norm, "q_norm"},
    SlotName{Role::k_norm, "k_norm"},
    SlotName{Role::ffn_norm, "ffn_norm"},
    SlotName{Role::w1, "gate_proj"},
    SlotName{Role::w3, "up_proj"},
    SlotName{Role::w2, "down_proj"},
    SlotName{Role::post_attn_norm, "post_attn_norm"},
    SlotName{Role::post_ffn_norm, "post_ffn_norm"},
    SlotName{Role::lqkv, "lin_qkv"},
    SlotName{Role::lz, "lin_z"},
    SlotName{Role::lb, "lin_b"},
    SlotName{Role::la, "lin_a"},
    SlotName{Role::lconv, "lin_conv"},
    SlotName{Role::dt_bias, "lin_dt_bias"},
    SlotName{Role::a_log, "lin_a_log"},
    SlotName{Role::lnorm, "lin_norm"},
    SlotName{Role::lout, "lin_out"},
};
constexpr std::array kModelSlots{
    SlotName{Role::tok_emb, "embed"},
    SlotName{Role::final_norm, "norm"},
    SlotName{Role::wcls, "lm_head"},
};
static_assert(kLayerSlots.size() + kModelSlots.size() == kMlbRoles);

const SlotName* find_slot(std::span<const SlotName> slots, std::string_view name) {
  const auto found =
      std::find_if(slots.begin(), slots.end(), [&](const SlotName& row) { return row.name == name; });
  return found == slots.end() ? nullptr : &*found;
}

std::string_view name_of(std::span<const SlotName> slots, Role role) {
  return std::find_if(slots.begin(), slots.end(), [&](const SlotName& row) { return row.role == role; })
      ->name;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// A defect of the header of a .mlb that says the same, as one of the configuration.
Error as_config_defect(Error error) {
  if (!error.offset) return error;
  const std::uint64_t at = *error.offset;
  if (at >= kMlbHeaderBytes) {  // a layer's flags
    error.offset = at - kMlbHeaderBytes + kMogConfigAt + offsetof(MogConfig, layer_flags);
    return error;
  }
  for (const MogField& field : mog_fields()) {
    if (field.mlb_name.empty()) continue;
    if (find_mlb_field(field.mlb_name)->offset == at) error.offset = field.offset;
    if (field.name != field.mlb_name) replace_all(error.message, field.mlb_name, field.name);
  }
  return error;
}

}  // namespace

std::vector<MogSlot> mog_slots(std::uint32_t n_layers) {
  std::vector<MogSlot> slots;
  slots.reserve(kLayerSlots.size() * n_layers + kModelSlots.size());
  slots.push_back({Role::tok_emb, kNoLayer});
  for (std::uint32_t layer = 0; layer < n_layers; ++layer) {
    for (const SlotName& row : kLayerSlots) slots.push_back({row.role, layer});
  }
  slots.push_back({Role::final_norm, kNoLayer});
  slots.push_back({Role::wcls, kNoLayer});
  return slots;
}

std::string mog_slot_name(MogSlot slot) {
  if (slot.layer == kNoLayer) return std::string(name_of(kModelSlots, slot.role));
  return fmt::format("layers.{}.{}", slot.layer, name_of(kLayerSlots, slot.role));
}

std::optional<MogSlot> find_mog_slot(std::string_view name) {
  if (const SlotName* row = find_slot(kModelSlots, name)) return MogSlot{row->role, kNoLayer};
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint32_t layer = 0;
  const char* const end = name.data() + name.size();
  const auto [after, error] = std::from_chars(name.data(), end, layer);
  if (error != std::errc() || after == end || *after != '.' || layer >= kMogMaxLayers) return std::nullopt;
  if (after - name.data() > 1 && name[0] == '0') return std::nullopt;
  const SlotName* row = find_slot(kLayerSlots, {after + 1, static_cast<std::size_t>(end - after - 1)});
  return row == nullptr ? std::nullopt : std::optional(MogSlot{row->role, layer});
}

std::vector<Error> mog_config_defects(const MogConfig& config) {
  std::vector<Error> defects;
  const auto add = [&](Status status, std::string message, std::uint64_t at) {
    defects.push_back({.status = status, .message = std::move(message), .offset = kMogConfigAt + at});
  };
  const MlbHeader header = mog_header(config);
  for (Error& error : mlb_header_defects(header)) defects.push_back(as_config_defect(std::move(error)));
  if (config.n_layers > kMogMaxLayers) {
    if (config.n_layers <= 65536) {
      add(Status::shape, fmt::format("n_layers is {}, must be at most {}", config.n_layers, kMogMaxLayers),
          offsetof(MogConfig, n_layers));
    }
  } else if (defects.empty()) {
    const std::span flags(config.layer_flags);
    for (Error& error : mlb_layer_defects(header, flags.first(config.n_layers)))
      defects.push_back(as_config_defect(std::move(error)));
    const auto beyond =
        std::find_if(flags.begin() + config.n_layers, flags.end(), [](auto b) { return b != 0; });
    if (beyond != flags.end()) {
      const auto i = static_cast<std::uint64_t>(beyond - flags.begin());
      add(Status::format,
          fmt::format("flags of layer {} are {}, must be 0 where n_layers is {}", i, *beyond,
                      config.n_layers),
          offsetof(MogConfig, layer_flags) + i);
    }
  }
  if (config.rope_layout > 1) {
    add(Status::format, fmt::format("rope_layout is {}, must be 0 or 1", config.rope_layout),
        offsetof(MogConfig, rope_layout));
  }
  const auto wrong = std::find_if(config.padding.begin(), config.padding.end(),
                                  [](std::byte b) { return b != std::byte{0}; });
  if (wrong != config.padding.end()) {
    add(Status::format, "padding is not zero, must be zero from rope_layout to layer_flags",
        offsetof(MogConfig, padding) + static_cast<std::uint64_t>(wrong - config.padding.begin()));
  }
  std::stable_sort(defects.begin(), defects.end(),
                   [](const Error& a, const Error& b) { return *a.offset < *b.offset; });
  return defects;
}

ModelDesc mog_desc(const MogConfig& config) {
  ModelDesc desc = mlb_desc(mog_header(config), std::span(config.layer_flags).first(config.n_layers));
  desc.rope.layout = config.rope_layout == 1 ? RopeLayout::rotate_half : RopeLayout::interleaved;
  return desc;
}

std::array<std::uint32_t, 4> mog_dims(const ModelDesc& desc, Role role) {
  const Shape shape = role_shape(desc, role);
  const auto rows = static_cast<std::uint32_t>(shape.rows);
  const auto cols = static_cast<std::uint32_t>(shape.cols);
  if (is_matrix(role) || role == Role::lconv) return {rows, cols, 0, 0};
  return {cols, 0, 0, 0};
}

bool has_mog_slot(const ModelDesc& desc, MogSlot slot) {
  if (slot.layer == kNoLayer) return slot.role != Role::wcls || !desc.shared_classifier;
  if (slot.layer >= desc.n_layers()) return false;
  const std::vector<Role> roles = layer_roles(desc, desc.layers[slot.layer]);
  return std::find(roles.begin(), roles.end(), slot.role) != roles.end();
}

std::optional<std::string> mog_encoding_defect(const MogEncoding& encoding, std::uint64_t rows,
                                               std::uint64_t cols) {
  const EncodingInfo& info = encoding_info(encoding.encoding);
  if (cols % info.block_weights != 0) {
    return fmt::format("columns are {}, must be a multiple of {} for {}", cols, info.block_weights,
                       encoding.name);
  }
  if (rows % info.block_rows != 0) {
    return fmt::format("rows are {}, must be a multiple of {} for {}", rows, info.block_rows, encoding.name);
  }
  return std::nullopt;
}

}  // namespace ml
