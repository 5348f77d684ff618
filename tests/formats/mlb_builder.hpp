#pragma once

#include "formats/mlb_layout.hpp"
#include "util/bytes.hpp"

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// A header as it lies in a file.
inline std::string header_bytes(ml::MlbHeader header) {
  ml::order_mlb_header(header);
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

/// Makes small valid .mlb files with any feature; tests change the header, the flags or the bytes.
struct MlbBuilder {
  ml::MlbHeader header;
  std::vector<std::uint8_t> flags;

  MlbBuilder() {
    header.dim = 32;
    header.n_layers = 2;
    header.n_heads = 4;
    header.n_kv_heads = 2;
    header.hidden_dim = 64;
    header.vocab = 5;
    header.max_seq = 64;
    header.rope_theta = 10000;
    header.norm_eps = 1e-5f;
    header.wtype = 1;
  }

  /// Every optional array and field at once: yarn, biases, gate, norms, a window, a local base, a linear
  /// layer.
  static MlbBuilder everything() {
    MlbBuilder builder;
    ml::MlbHeader& h = builder.header;
    h.n_layers = 4;
    h.head_dim = 16;
    h.wtype = 2;
    h.q8_mask = 4 | 64;
    h.scale_f16 = 1;
    h.rope_type = 3;
    h.rope_factor = 4;
    h.rope_low_freq_factor = 32;
    h.rope_high_freq_factor = 1;
    h.rope_orig_max_seq = 16;
    h.rope_attn_factor = 1.1386f;
    h.qkv_bias = h.qk_norm = h.post_norms = h.attn_gate = 1;
    h.sliding_window = 12;
    h.layer_flags = 1;
    h.rope_local_theta = 10000;
    h.act = 1;
    h.embed_scale = 8;
    h.attn_scale = 0.25f;
    h.attn_softcap = 4;
    h.final_softcap = 5;
    h.rot_dim = 8;
    h.lin_k_heads = 2;
    h.lin_v_heads = 4;
    h.lin_k_dim = 4;
    h.lin_v_dim = 8;
    h.lin_conv = 4;
    builder.flags = {3, 8, 4, 0};
    return builder;
  }

  std::vector<ml::MlbArray> arrays() const {
    std::vector<ml::MlbArray> arrays;
    const ml::ModelDesc desc = ml::mlb_desc(header, flags);
    const auto error = ml::lay_out_mlb(desc, ml::mlb_storage(header), !flags.empty(), std::nullopt, arrays);
    return error ? std::vector<ml::MlbArray>() : arrays;
  }

  ml::MlbArray array(ml::Role role, std::uint32_t layer = ml::kNoLayer) const {
    for (const ml::MlbArray& row : arrays()) {
      if (row.role == role && row.layer == layer) return row;
    }
    return {};
  }

  /// The file, its last padding included. Quants count up from -127, floats are 0.5, scales 2^-6.
  std::string build() const {
    const std::vector<ml::MlbArray> all = arrays();
    const std::uint64_t end = (all.back().end() + 63) / 64 * 64;
    std::string file(end, '\0');
    file.replace(0, sizeof header, header_bytes(header));
    if (!flags.empty()) std::memcpy(file.data() + 256, flags.data(), flags.size());
    for (const ml::MlbArray& row : all) {
      char* data = file.data() + row.offset;
      for (std::uint64_t i = 0; i < row.n_bytes; ++i) {
        data[i] = row.encoding == ml::Encoding::q8_0 ? static_cast<char>(static_cast<int>(i * 7 % 255) - 127)
                                                     : static_cast<char>(i * 11);
      }
      if (row.encoding == ml::Encoding::f32) fill(data, row.n_bytes, 0.5f);
      char* scales = file.data() + row.scale_offset;
      if (row.scale_type == ml::ScaleType::f32) fill(scales, row.n_scale_bytes, 0x1p-6f);
      if (row.scale_type == ml::ScaleType::f16) fill(scales, row.n_scale_bytes, std::uint16_t(0x2400));
    }
    return file;
  }

  template <class T>
  static void fill(char* at, std::uint64_t n_bytes, T value) {
    for (std::uint64_t i = 0; i < n_bytes; i += sizeof value) ml::store_le(at + i, value);
  }
};

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
