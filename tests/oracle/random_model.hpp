#pragma once

#include "formats/mlb_builder.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <random>
#include <span>
#include <string>

/// Equal bits; but the sign of a NaN is the compiler's choice (ml-numerics(7), CHECKS).
inline bool same_logits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  });
}

/// Draws small .mlb files: every field of the header, every flag, every weight. Most are sound; some are
/// refused.
class RandomMlb {
 public:
  explicit RandomMlb(std::uint64_t seed) : random_(seed) {}

  std::string draw() {
    MlbBuilder builder;
    draw_header(builder.header);
    if (one_of({0, 1}) != 0) {
      builder.header.layer_flags = 1;
      for (std::uint32_t i = 0; i < builder.header.n_layers; ++i)
        builder.flags.push_back(static_cast<std::uint8_t>(one_of({0, 1, 2, 3, 4, 8})));
    }
    if (!ml::mlb_header_defects(builder.header).empty() || builder.arrays().empty()) return {};
    std::string file = builder.build();
    for (const ml::MlbArray& array : builder.arrays()) fill(file, array);
    return file;
  }

  std::uint32_t one_of(std::initializer_list<std::uint32_t> values) {
    return values.begin()[random_() % values.size()];
  }

 private:
  float one_of_floats(std::initializer_list<float> values) {
    return values.begin()[random_() % values.size()];
  }

  void draw_header(ml::MlbHeader& h) {
    h.dim = one_of({32, 64, 96});
    h.n_layers = one_of({1, 2, 3, 4});
    h.n_heads = one_of({1, 2, 4, 8});
    h.n_kv_heads = std::min(h.n_heads, one_of({1, 1, 2, 4}));
    h.hidden_dim = one_of({32, 64, 128, 160});
    h.vocab = one_of({3, 5, 16, 33, 70});
    h.max_seq = one_of({20, 64, 300});
    h.rope_theta = one_of_floats({1, 100, 10000, 1e6f});
    h.norm_eps = one_of_floats({0, 1e-6f, 1e-5f, 1});
    h.wtype = one_of({1, 2});
    h.shared_classifier = one_of({0, 1});
    h.scale_f16 = one_of({0, 1});
    if (h.wtype == 2) h.q8_mask = random_() % 128;
    h.qkv_bias = one_of({0, 1});
    h.qk_norm = one_of({0, 1});
    h.post_norms = one_of({0, 1});
    h.attn_gate = one_of({0, 1});
    h.head_dim = one_of({0, 0, 8, 16, 32, 40});
    h.act = one_of({0, 1});
    h.embed_scale = one_of_floats({0, 1, 8});
    h.attn_scale = one_of_floats({0, 0.25f, 2});
    h.attn_softcap = one_of_floats({0, 0, 1, 30});
    h.final_softcap = one_of_floats({0, 0, 1, 30});
    h.rot_dim = one_of({0, 0, 2, 4, 8});
    h.sliding_window = one_of({0, 1, 2, 7, 16});
    h.rope_local_theta = one_of_floats({0, 100});
    draw_rope(h);
    h.lin_k_heads = one_of({1, 2});
    h.lin_v_heads = h.lin_k_heads * one_of({1, 2});
    h.lin_k_dim = one_of({4, 8, 20});
    h.lin_v_dim = one_of({8, 16, 32});
    h.lin_conv = one_of({1, 2, 4});
    if (one_of({0, 1}) != 0) h.lin_k_heads = h.lin_v_heads = h.lin_k_dim = h.lin_v_dim = h.lin_conv = 0;
  }

  void draw_rope(ml::MlbHeader& h) {
    h.rope_type = one_of({0, 1, 2, 3});
    if (h.rope_type == 0) return;
    h.rope_factor = one_of_floats({1, 2, 8});
    if (h.rope_type == 2) return;
    h.rope_low_freq_factor = h.rope_type == 1 ? 1.0f : 32.0f;
    h.rope_high_freq_factor = h.rope_type == 1 ? 4.0f : 1.0f;
    h.rope_orig_max_seq = one_of({8, 64});
    if (h.rope_type == 3) h.rope_attn_factor = one_of_floats({1, 1.1386f, 0.5f});
  }

  void fill(std::string& file, const ml::MlbArray& array) {
    std::uniform_real_distribution<float> weight(-1.5f, 1.5f);
    char* data = file.data() + array.offset;
    if (array.encoding == ml::Encoding::f32) {
      for (std::uint64_t i = 0; i + 4 <= array.n_bytes; i += 4) {
        ml::store_le(data + i, weight(random_));
      }
    } else {
      for (std::uint64_t i = 0; i < array.n_bytes; ++i) {
        data[i] = static_cast<char>(random_());
        if (array.encoding == ml::Encoding::q8_0 && static_cast<std::int8_t>(data[i]) == -128)
          data[i] = static_cast<char>(-127);
      }
    }
    // Scales of all sizes, and now and then a block of zeros.
    char* scales = file.data() + array.scale_offset;
    const bool wide = array.scale_type == ml::ScaleType::f32;
    for (std::uint64_t i = 0; i < array.n_scale_bytes; i += wide ? 4 : 2) {
      const float value = random_() % 9 == 0
                              ? 0.0f
                              : std::ldexp(1.0f + weight(random_) / 3, -static_cast<int>(5 + random_() % 5));
      if (wide) {
        ml::store_le(scales + i, value);
      } else {
        ml::store_le(scales + i, ml::f32_to_f16(value));
      }
    }
  }

  std::mt19937_64 random_;
};
