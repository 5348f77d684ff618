#include "formats/mog_layout.hpp"

#include "util/bytes.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

namespace ml {

namespace {

#define ML_PREAMBLE(name, type, meaning) \
  MogField { #name, offsetof(MogPreamble, name), sizeof(MogPreamble::name), MogType::type, "", meaning }
#define ML_CONFIG(name, type, mlb, meaning)                                                               \
  MogField {                                                                                              \
#name, kMogConfigAt + offsetof(MogConfig, name), sizeof(MogConfig::name), MogType::type, mlb, meaning \
  }
#define ML_SHARED(name, type, meaning) ML_CONFIG(name, type, #name, meaning)

constexpr std::array kFields{
    ML_PREAMBLE(magic, tag, "MOG and a zero byte"),
    ML_PREAMBLE(version, u32, "version of the format"),
    ML_PREAMBLE(architecture, u32, "what the model is, of the list below"),
    ML_PREAMBLE(config_size, u32, "bytes of the configuration"),
    ML_PREAMBLE(tokenizer_offset, u64, "where the tokenizer begins; 0: none"),
    ML_PREAMBLE(tokenizer_size, u64, "bytes of the tokenizer"),
    ML_PREAMBLE(directory_offset, u64, "where the tensor directory begins"),
    ML_PREAMBLE(n_records, u32, "records of the directory"),
    ML_PREAMBLE(record_size, u32, "bytes of a record"),
    ML_PREAMBLE(payload_offset, u64, "where the payload begins"),
    ML_PREAMBLE(payload_size, u64, "bytes of the payload"),
    ML_SHARED(dim, u32, "width of the model"),
    ML_SHARED(n_layers, u32, "layers"),
    ML_SHARED(n_heads, u32, "query heads"),
    ML_SHARED(n_kv_heads, u32, "key and value heads"),
    ML_SHARED(hidden_dim, u32, "width of the feed-forward network"),
    ML_SHARED(vocab, u32, "token ids"),
    ML_SHARED(max_seq, u32, "longest context"),
    ML_SHARED(head_dim, u32, "size of a head; 0: dim / n_heads"),
    ML_SHARED(rope_theta, f32, "base of the rotary frequencies"),
    ML_SHARED(norm_eps, f32, "epsilon of every RMS norm"),
    ML_SHARED(shared_classifier, u32, "not 0: embed is the classifier, lm_head is empty"),
    ML_SHARED(rope_type, u32, "scaling of the frequencies: 0 plain, 1 llama3, 2 linear, 3 yarn"),
    ML_SHARED(rope_factor, f32, "llama3, linear, yarn: factor of the context"),
    ML_CONFIG(low_freq_factor, f32, "rope_low_freq_factor", "llama3: low frequency factor; yarn: beta_fast"),
    ML_CONFIG(high_freq_factor, f32, "rope_high_freq_factor",
              "llama3: high frequency factor; yarn: beta_slow"),
    ML_SHARED(rope_attn_factor, f32, "yarn: factor on cos and sin"),
    ML_SHARED(rope_orig_max_seq, u32, "llama3, yarn: context before scaling"),
    ML_SHARED(qkv_bias, u32, "1: biases of q, k and v"),
    ML_SHARED(qk_norm, u32, "1: RMS norm of each query and key head"),
    ML_SHARED(sliding_window, u32, "positions a windowed layer attends to; 0: all"),
    ML_SHARED(rope_local_theta, f32, "base of the layers flagged for it"),
    ML_SHARED(act, u32, "activation: 0 SiLU, 1 GELU (tanh)"),
    ML_SHARED(post_norms, u32, "1: RMS norms of the attention's and the network's output"),
    ML_SHARED(embed_scale, f32, "factor on embedding rows; 0: none"),
    ML_SHARED(attn_scale, f32, "factor on attention scores; 0: 1 / sqrt(head_dim)"),
    ML_SHARED(attn_softcap, f32, "soft cap of attention scores; 0: none"),
    ML_SHARED(final_softcap, f32, "soft cap of logits; 0: none"),
    ML_SHARED(rot_dim, u32, "leading dimensions of a head that rotate; 0: all"),
    ML_SHARED(attn_gate, u32, "1: attention output is gated by sigmoid(gate_attn x)"),
    ML_SHARED(lin_k_heads, u32, "linear attention: key heads; 0: no such layer"),
    ML_SHARED(lin_v_heads, u32, "linear attention: value heads"),
    ML_SHARED(lin_k_dim, u32, "linear attention: size of a key head"),
    ML_SHARED(lin_v_dim, u32, "linear attention: size of a value head"),
    ML_SHARED(lin_conv, u32, "linear attention: taps of the convolution"),
    ML_CONFIG(rope_layout, u32, "", "rows of q and k: 0 interleaved pairs, 1 rotate-half"),
    ML_CONFIG(padding, zeros, "", "zero"),
    ML_CONFIG(layer_flags, bytes, "", "a byte for each layer; zero after the last one"),
};

constexpr bool covers_head() {
  std::uint64_t end = 0;
  for (const MogField& field : kFields) {
    if (field.offset != end) return false;
    end += field.n_bytes;
  }
  return end == kMogHeadBytes;
}
static_assert(covers_head());

constexpr std::array kArchitectures{
    MogArchitecture{1, "llama"},  MogArchitecture{2, "mistral"}, MogArchitecture{3, "qwen2"},
    MogArchitecture{4, "qwen3"},  MogArchitecture{5, "qwen3_5"}, MogArchitecture{6, "gemma2"},
    MogArchitecture{7, "gemma3"}, MogArchitecture{8, "smollm3"}, MogArchitecture{9, "phi3"},
};

struct Base {
  std::uint32_t id;
  std::string_view name;
  std::array<Encoding, 3> groups;  // of 32, 64, 128
};
constexpr std::array kBases{
    Base{4, "int8", {Encoding::q8_0, Encoding::int8_g64, Encoding::int8_g128}},
    Base{5, "int4", {Encoding::int4_g32, Encoding::int4_g64, Encoding::int4_g128}},
    Base{6, "int4h", {Encoding::q4_0, Encoding::int4h_g64, Encoding::int4h_g128}},
    Base{7, "int8r16", {Encoding::int8r16_g32, Encoding::int8r16_g64, Encoding::int8r16_g128}},
    Base{8, "int4r16", {Encoding::int4r16_g32, Encoding::int4r16_g64, Encoding::int4r16_g128}},
};

std::vector<MogEncoding> make_encodings() {
  std::vector<MogEncoding> all;
  all.push_back({1, "f32", Encoding::f32, ScaleType::none});
  all.push_back({2, "f16", Encoding::f16, ScaleType::none});
  all.push_back({3, "bf16", Encoding::bf16, ScaleType::none});
  for (const std::uint32_t scale : {1u, 2u}) {
    const ScaleType scale_type = scale == 1 ? ScaleType::f32 : ScaleType::f16;
    for (const std::uint32_t group : {1u, 2u, 3u}) {
      for (const Base& base : kBases) {
        all.push_back({base.id + 16 * group + 4096 * scale,
                       fmt::format("{}_g{}_{}", base.name, 16u << group, scale_type_name(scale_type)),
                       base.groups[group - 1], scale_type});
      }
    }
  }
  return all;
}

}  // namespace

std::span<const MogField> mog_fields() { return kFields; }

const MogField* find_mog_config_field(std::string_view name) {
  for (const MogField& field : kFields) {
    if (field.offset >= kMogConfigAt && field.type != MogType::zeros && field.name == name) return &field;
  }
  return nullptr;
}

std::span<const MogArchitecture> mog_architectures() { return kArchitectures; }

std::span<const MogEncoding> mog_encodings() {
  static const std::vector<MogEncoding> encodings = make_encodings();
  return encodings;
}

const MogEncoding* find_mog_encoding(std::string_view name) {
  const std::string wanted(name);
  for (const MogEncoding& encoding : mog_encodings()) {
    if (wanted.size() == encoding.name.size() && ::strcasecmp(wanted.c_str(), encoding.name.c_str()) == 0)
      return &encoding;
  }
  return nullptr;
}

std::uint32_t mog_encoding_id(Encoding encoding, ScaleType scale_type) {
  const auto found = std::find_if(
      mog_encodings().begin(), mog_encodings().end(),
      [&](const MogEncoding& row) { return row.encoding == encoding && row.scale_type == scale_type; });
  return found->id;
}

void order_mog(MogPreamble& preamble) {
  for (const MogField& field : kFields) {
    const bool number = field.type == MogType::u32 || field.type == MogType::u64;
    if (!number || field.offset >= kMogConfigAt) continue;
    order_le(reinterpret_cast<char*>(&preamble) + field.offset, field.n_bytes, 1);
  }
}

void order_mog(MogConfig& config) { order_le(&config, 4, offsetof(MogConfig, padding) / 4); }

void order_mog(MogRecord& record) {
  order_le(&record, 8, offsetof(MogRecord, dims) / 8);
  order_le(record.dims.data(), 4, (sizeof record - offsetof(MogRecord, dims)) / 4);
}

MlbHeader mog_header(const MogConfig& config) {
  MlbHeader header;
  header.wtype = 1;
  header.layer_flags = 1;
  for (const MogField& field : kFields) {
    if (field.mlb_name.empty()) continue;
    std::memcpy(reinterpret_cast<char*>(&header) + find_mlb_field(field.mlb_name)->offset,
                reinterpret_cast<const char*>(&config) + (field.offset - kMogConfigAt), field.n_bytes);
  }
  return header;
}

MogConfig mog_config(const MlbHeader& header) {
  MogConfig config;
  for (const MogField& field : kFields) {
    if (field.mlb_name.empty()) continue;
    std::memcpy(reinterpret_cast<char*>(&config) + (field.offset - kMogConfigAt),
                reinterpret_cast<const char*>(&header) + find_mlb_field(field.mlb_name)->offset,
                field.n_bytes);
  }
  return config;
}

}  // namespace ml
