// The conditions of mlb(5), VALIDATION, on the header: one row each. Rows of a field stand together; a rule
// that needs another field to be sane holds where it is not, so that one fault is not reported twice.

#include <ml/mlb.hpp>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

using H = MlbHeader;

constexpr std::uint32_t kMaxDim = 65536;
constexpr std::uint32_t kMaxIds = 1u << 24;

template <auto Member>
bool is_dimension(const H& h) {
  return h.*Member >= 1 && h.*Member <= kMaxDim;
}
template <auto Member>
bool is_flag(const H& h) {
  return h.*Member <= 1;
}
template <auto Member>
bool is_finite(const H& h) {
  return std::isfinite(h.*Member);
}
template <auto Member>
bool is_factor(const H& h) {
  return std::isfinite(h.*Member) && h.*Member >= 0;
}

bool llama3(const H& h) { return h.rope_type == 1; }
bool yarn(const H& h) { return h.rope_type == 3; }
bool scaled(const H& h) { return h.rope_type >= 1 && h.rope_type <= 3; }
bool linear(const H& h) {
  return (h.lin_k_heads | h.lin_v_heads | h.lin_k_dim | h.lin_v_dim | h.lin_conv) != 0;
}
template <auto Member>
bool is_linear_dimension(const H& h) {
  return !linear(h) || is_dimension<Member>(h);
}
std::uint64_t q_dim(const H& h) { return std::uint64_t(h.head_dim) * h.n_heads; }
std::uint32_t head_dim(const H& h) {
  if (h.head_dim != 0) return h.head_dim;
  return h.n_heads != 0 ? h.dim / h.n_heads : 0;
}

constexpr Status kFormat = Status::format;
constexpr Status kShape = Status::shape;

constexpr std::array kRules{
    MlbRule{"magic", kFormat, "must be MLB1", [](const H& h) { return h.magic == H().magic; }},
    MlbRule{"version", kFormat, "must be 1", [](const H& h) { return h.version == 1; }},
    MlbRule{"dim", kShape, "must be 1 to 65536", is_dimension<&H::dim>},
    MlbRule{"dim", kShape, "must be a multiple of 32", [](const H& h) { return h.dim % kBlock == 0; }},
    MlbRule{"n_layers", kShape, "must be 1 to 65536", is_dimension<&H::n_layers>},
    MlbRule{"n_heads", kShape, "must be 1 to 65536", is_dimension<&H::n_heads>},
    MlbRule{"n_heads", kShape, "must divide dim ({dim}) where head_dim is 0",
            [](const H& h) { return h.head_dim != 0 || h.n_heads == 0 || h.dim % h.n_heads == 0; }},
    MlbRule{"n_heads", kShape, "must make dim / n_heads (dim is {dim}) even where head_dim is 0",
            [](const H& h) {
              return h.head_dim != 0 || h.n_heads == 0 || h.dim % h.n_heads != 0 ||
                     h.dim / h.n_heads % 2 == 0;
            }},
    MlbRule{"n_kv_heads", kShape, "must be 1 to 65536", is_dimension<&H::n_kv_heads>},
    MlbRule{"n_kv_heads", kShape, "must divide n_heads ({n_heads})",
            [](const H& h) { return h.n_kv_heads == 0 || h.n_heads % h.n_kv_heads == 0; }},
    MlbRule{"hidden_dim", kShape, "must be 1 to 65536", is_dimension<&H::hidden_dim>},
    MlbRule{"hidden_dim", kShape, "must be a multiple of 32",
            [](const H& h) { return h.hidden_dim % kBlock == 0; }},
    MlbRule{"vocab", kShape, "must be 3 to 16777216",
            [](const H& h) { return h.vocab >= 3 && h.vocab <= kMaxIds; }},
    MlbRule{"max_seq", kShape, "must be 1 to 16777216",
            [](const H& h) { return h.max_seq >= 1 && h.max_seq <= kMaxIds; }},
    MlbRule{"rope_theta", kFormat, "must be finite and > 0",
            [](const H& h) { return std::isfinite(h.rope_theta) && h.rope_theta > 0; }},
    MlbRule{"norm_eps", kFormat, "must be finite and >= 0", is_factor<&H::norm_eps>},
    MlbRule{"wtype", kFormat, "must be 1 (Q8_0) or 2 (Q4_0)",
            [](const H& h) { return h.wtype == 1 || h.wtype == 2; }},
    MlbRule{"shared_classifier", kFormat, "may be any value", [](const H&) { return true; }},
    MlbRule{"rope_type", kFormat, "must be 0 (plain), 1 (llama3), 2 (linear) or 3 (yarn)",
            [](const H& h) { return h.rope_type <= 3; }},
    MlbRule{"rope_factor", kFormat, "must be finite", is_finite<&H::rope_factor>},
    MlbRule{"rope_factor", kFormat, "must be > 0 where rope_type is 1, 2 or 3 (it is {rope_type})",
            [](const H& h) { return !scaled(h) || !is_finite<&H::rope_factor>(h) || h.rope_factor > 0; }},
    MlbRule{"rope_low_freq_factor", kFormat, "must be finite", is_finite<&H::rope_low_freq_factor>},
    MlbRule{"rope_low_freq_factor", kFormat, "must be > 0 where rope_type is 1 or 3 (it is {rope_type})",
            [](const H& h) {
              return !(llama3(h) || yarn(h)) || !is_finite<&H::rope_low_freq_factor>(h) ||
                     h.rope_low_freq_factor > 0;
            }},
    MlbRule{"rope_high_freq_factor", kFormat, "must be finite", is_finite<&H::rope_high_freq_factor>},
    MlbRule{"rope_high_freq_factor", kFormat,
            "must be > rope_low_freq_factor ({rope_low_freq_factor}) for llama3",
            [](const H& h) {
              return !llama3(h) || !is_finite<&H::rope_high_freq_factor>(h) ||
                     !is_finite<&H::rope_low_freq_factor>(h) ||
                     h.rope_high_freq_factor > h.rope_low_freq_factor;
            }},
    MlbRule{"rope_high_freq_factor", kFormat,
            "must be > 0 and < rope_low_freq_factor ({rope_low_freq_factor}) for yarn",
            [](const H& h) {
              return !yarn(h) || !is_finite<&H::rope_high_freq_factor>(h) ||
                     !is_finite<&H::rope_low_freq_factor>(h) ||
                     (h.rope_high_freq_factor > 0 && h.rope_high_freq_factor < h.rope_low_freq_factor);
            }},
    MlbRule{"rope_orig_max_seq", kFormat, "must be > 0 where rope_type is 1 or 3 (it is {rope_type})",
            [](const H& h) { return !(llama3(h) || yarn(h)) || h.rope_orig_max_seq > 0; }},
    MlbRule{"q8_mask", kFormat, "must be 0 where wtype is 1 (Q8_0)",
            [](const H& h) { return h.wtype != 1 || h.q8_mask == 0; }},
    MlbRule{"q8_mask", kFormat, "must not have bits beyond 127", [](const H& h) { return h.q8_mask <= 127; }},
    MlbRule{"qkv_bias", kFormat, "must be 0 or 1", is_flag<&H::qkv_bias>},
    MlbRule{"head_dim", kShape, "must be even", [](const H& h) { return h.head_dim % 2 == 0; }},
    MlbRule{"head_dim", kShape, "must make q_dim (head_dim x n_heads, {n_heads}) a multiple of 32",
            [](const H& h) { return h.head_dim == 0 || h.n_heads == 0 || q_dim(h) % kBlock == 0; }},
    MlbRule{"head_dim", kShape, "must make q_dim (head_dim x n_heads, {n_heads}) at most 65536",
            [](const H& h) { return q_dim(h) <= kMaxDim; }},
    MlbRule{"qk_norm", kFormat, "must be 0 or 1", is_flag<&H::qk_norm>},
    MlbRule{
        "rope_attn_factor", kFormat, "must be finite and > 0 for yarn",
        [](const H& h) { return !yarn(h) || (std::isfinite(h.rope_attn_factor) && h.rope_attn_factor > 0); }},
    MlbRule{"rope_attn_factor", kFormat, "must be 0 without yarn",
            [](const H& h) { return yarn(h) || h.rope_attn_factor == 0; }},
    MlbRule{"sliding_window", kFormat, "must be 0 to 16777216",
            [](const H& h) { return h.sliding_window <= kMaxIds; }},
    MlbRule{"layer_flags", kFormat, "must be 0 or 1", is_flag<&H::layer_flags>},
    MlbRule{"rope_local_theta", kFormat, "must be finite and >= 0", is_factor<&H::rope_local_theta>},
    MlbRule{"act", kFormat, "must be 0 (SiLU) or 1 (GELU)", is_flag<&H::act>},
    MlbRule{"post_norms", kFormat, "must be 0 or 1", is_flag<&H::post_norms>},
    MlbRule{"embed_scale", kFormat, "must be finite and >= 0", is_factor<&H::embed_scale>},
    MlbRule{"attn_scale", kFormat, "must be finite and >= 0", is_factor<&H::attn_scale>},
    MlbRule{"scale_f16", kFormat, "must be 0 or 1", is_flag<&H::scale_f16>},
    MlbRule{"attn_softcap", kFormat, "must be finite and >= 0", is_factor<&H::attn_softcap>},
    MlbRule{"final_softcap", kFormat, "must be finite and >= 0", is_factor<&H::final_softcap>},
    MlbRule{"rot_dim", kShape, "must be even", [](const H& h) { return h.rot_dim % 2 == 0; }},
    MlbRule{"rot_dim", kShape,
            "must be at most the head's size (dim {dim}, n_heads {n_heads}, head_dim {head_dim})",
            [](const H& h) { return head_dim(h) == 0 || h.rot_dim <= head_dim(h); }},
    MlbRule{"attn_gate", kFormat, "must be 0 or 1", is_flag<&H::attn_gate>},
    MlbRule{"lin_k_heads", kShape, "must be 1 to 65536 where any lin_ field is set",
            is_linear_dimension<&H::lin_k_heads>},
    MlbRule{"lin_v_heads", kShape, "must be 1 to 65536 where any lin_ field is set",
            is_linear_dimension<&H::lin_v_heads>},
    MlbRule{"lin_v_heads", kShape, "must be a multiple of lin_k_heads ({lin_k_heads})",
            [](const H& h) { return h.lin_k_heads == 0 || h.lin_v_heads % h.lin_k_heads == 0; }},
    MlbRule{"lin_v_heads", kShape, "must be a multiple of 4",
            [](const H& h) { return h.lin_v_heads % 4 == 0; }},
    MlbRule{"lin_k_dim", kShape, "must be 1 to 65536 where any lin_ field is set",
            is_linear_dimension<&H::lin_k_dim>},
    MlbRule{"lin_v_dim", kShape, "must be 1 to 65536 where any lin_ field is set",
            is_linear_dimension<&H::lin_v_dim>},
    MlbRule{"lin_v_dim", kShape, "must make lin_v_heads x lin_v_dim ({lin_v_heads} heads) a multiple of 32",
            [](const H& h) { return std::uint64_t(h.lin_v_heads) * h.lin_v_dim % kBlock == 0; }},
    MlbRule{"lin_conv", kShape, "must be 1 to 65536 where any lin_ field is set",
            is_linear_dimension<&H::lin_conv>},
    MlbRule{"padding", kFormat, "must be zero up to offset 256",
            [](const H& h) { return h.padding == decltype(h.padding){}; }},
};

}  // namespace

std::span<const MlbRule> mlb_rules() { return kRules; }

}  // namespace ml
