#include "formats/mlb_layout.hpp"

#include "util/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ml {

namespace {

#define ML_FIELD(name, type, meaning) \
  MlbField { #name, offsetof(MlbHeader, name), sizeof(MlbHeader::name), MlbType::type, meaning }

constexpr std::array kFields{
    ML_FIELD(magic, tag, "MLB1"),
    ML_FIELD(version, u32, "version of the format"),
    ML_FIELD(dim, u32, "width of the model"),
    ML_FIELD(n_layers, u32, "layers"),
    ML_FIELD(n_heads, u32, "query heads"),
    ML_FIELD(n_kv_heads, u32, "key and value heads"),
    ML_FIELD(hidden_dim, u32, "width of the feed-forward network"),
    ML_FIELD(vocab, u32, "token ids"),
    ML_FIELD(max_seq, u32, "longest context"),
    ML_FIELD(rope_theta, f32, "base of the rotary frequencies"),
    ML_FIELD(norm_eps, f32, "epsilon of every RMS norm"),
    ML_FIELD(wtype, u32, "encoding of the matrices: 1 Q8_0, 2 Q4_0"),
    ML_FIELD(shared_classifier, u32, "not 0: tok_emb is the classifier, wcls is left out"),
    ML_FIELD(rope_type, u32, "scaling of the frequencies: 0 plain, 1 llama3, 2 linear, 3 yarn"),
    ML_FIELD(rope_factor, f32, "llama3, linear, yarn: factor of the context"),
    ML_FIELD(rope_low_freq_factor, f32, "llama3: low frequency factor; yarn: beta_fast"),
    ML_FIELD(rope_high_freq_factor, f32, "llama3: high frequency factor; yarn: beta_slow"),
    ML_FIELD(rope_orig_max_seq, u32, "llama3, yarn: context before scaling"),
    ML_FIELD(q8_mask, u32, "Q4_0 models: classes of matrices stored as Q8_0"),
    ML_FIELD(qkv_bias, u32, "1: biases of q, k and v"),
    ML_FIELD(head_dim, u32, "size of a head; 0: dim / n_heads"),
    ML_FIELD(qk_norm, u32, "1: RMS norm of each query and key head"),
    ML_FIELD(rope_attn_factor, f32, "yarn: factor on cos and sin"),
    ML_FIELD(sliding_window, u32, "positions a windowed layer attends to; 0: all"),
    ML_FIELD(layer_flags, u32, "1: a byte of flags for each layer"),
    ML_FIELD(rope_local_theta, f32, "base of the layers flagged for it"),
    ML_FIELD(act, u32, "activation: 0 SiLU, 1 GELU (tanh)"),
    ML_FIELD(post_norms, u32, "1: RMS norms of the attention's and the network's output"),
    ML_FIELD(embed_scale, f32, "factor on embedding rows; 0: none"),
    ML_FIELD(attn_scale, f32, "factor on attention scores; 0: 1 / sqrt(head_dim)"),
    ML_FIELD(scale_f16, u32, "1: scales are f16, not f32"),
    ML_FIELD(attn_softcap, f32, "soft cap of attention scores; 0: none"),
    ML_FIELD(final_softcap, f32, "soft cap of logits; 0: none"),
    ML_FIELD(rot_dim, u32, "leading dimensions of a head that rotate; 0: all"),
    ML_FIELD(attn_gate, u32, "1: attention output is gated by sigmoid(wg x)"),
    ML_FIELD(lin_k_heads, u32, "linear attention: key heads; 0: no such layer"),
    ML_FIELD(lin_v_heads, u32, "linear attention: value heads"),
    ML_FIELD(lin_k_dim, u32, "linear attention: size of a key head"),
    ML_FIELD(lin_v_dim, u32, "linear attention: size of a value head"),
    ML_FIELD(lin_conv, u32, "linear attention: taps of the convolution"),
    ML_FIELD(padding, zeros, "zero"),
};

constexpr bool covers_header() {
  std::uint64_t end = 0;
  for (const MlbField& field : kFields) {
    if (field.offset != end) return false;
    end += field.n_bytes;
  }
  return end == kMlbHeaderBytes;
}
static_assert(covers_header());

}  // namespace

std::span<const MlbField> mlb_fields() { return kFields; }

const MlbField* find_mlb_field(std::string_view name) {
  for (const MlbField& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

void order_mlb_header(MlbHeader& header) {
  constexpr std::size_t kFirst = offsetof(MlbHeader, version);
  order_le(&header.version, 4, (offsetof(MlbHeader, padding) - kFirst) / 4);
}

MlbHeader load_mlb_header(std::span<const std::byte> bytes) {
  MlbHeader header;
  std::memcpy(&header, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof header));
  order_mlb_header(header);
  return header;
}

std::uint32_t mlb_field_word(const MlbHeader& header, const MlbField& field) {
  std::uint32_t word;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&header) + field.offset, sizeof word);
  return word;
}

std::string mlb_field_value(const MlbHeader& header, const MlbField& field) {
  const std::uint32_t word = mlb_field_word(header, field);
  switch (field.type) {
    case MlbType::tag: {
      std::string text;
      for (const char c : header.magic) {
        const auto byte = static_cast<unsigned char>(c);
        text += byte > 0x20 && byte < 0x7f && c != '\\' ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
      }
      return text;
    }
    case MlbType::u32: return fmt::format("{}", word);
    case MlbType::f32: return fmt::format("{}", std::bit_cast<float>(word));
    case MlbType::zeros: {
      for (const std::byte b : header.padding) {
        if (b != std::byte{0}) return "not zero";
      }
      return "zero";
    }
  }
  return {};
}

std::string mlb_layer_flags_text(std::uint8_t flags) {
  static constexpr std::array<std::string_view, 4> kBits{"window", "local_rope", "no_rope", "linear"};
  std::string text;
  for (std::size_t bit = 0; bit < 8; ++bit) {
    if ((flags >> bit & 1) == 0) continue;
    if (!text.empty()) text += ',';
    text += bit < kBits.size() ? std::string(kBits[bit]) : fmt::format("bit{}", bit);
  }
  return text.empty() ? "-" : text;
}

}  // namespace ml
