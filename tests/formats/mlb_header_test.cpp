// The header of .mlb: its table of fields, and every rule broken in turn.

#include "catch.hpp"
#include "mlb_builder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace ml;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Mutation {
  std::function<void(MlbHeader&)> change;
  Status status;
  std::uint64_t offset;
  std::string message;  // the whole of it
};

#define SET(field, value) [](MlbHeader& h) { h.field = value; }

void yarn(MlbHeader& h) {
  h.rope_type = 3;
  h.rope_factor = 4;
  h.rope_low_freq_factor = 32;
  h.rope_high_freq_factor = 1;
  h.rope_orig_max_seq = 16;
  h.rope_attn_factor = 1;
}
void llama3(MlbHeader& h) {
  h.rope_type = 1;
  h.rope_factor = 8;
  h.rope_low_freq_factor = 1;
  h.rope_high_freq_factor = 4;
  h.rope_orig_max_seq = 16;
}
void linear_layers(MlbHeader& h) {
  h.lin_k_heads = 2;
  h.lin_v_heads = 4;
  h.lin_k_dim = 4;
  h.lin_v_dim = 8;
  h.lin_conv = 4;
}

#define WITH(setup, field, value) \
  [](MlbHeader& h) {              \
    setup(h);                     \
    h.field = value;              \
  }

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> rows{
      {SET(magic[3], '2'), Status::format, 0, "magic is MLB2, must be MLB1"},
      {SET(magic[0], '\n'), Status::format, 0, "magic is \\x0aLB1, must be MLB1"},
      {SET(version, 0), Status::format, 4, "version is 0, must be 1"},
      {SET(version, 2), Status::format, 4, "version is 2, must be 1"},
      {SET(dim, 0), Status::shape, 8, "dim is 0, must be 1 to 65536"},
      {SET(dim, 65568), Status::shape, 8, "dim is 65568, must be 1 to 65536"},
      {SET(dim, 48), Status::shape, 8, "dim is 48, must be a multiple of 32"},
      {SET(n_layers, 0), Status::shape, 12, "n_layers is 0, must be 1 to 65536"},
      {SET(n_layers, 65537), Status::shape, 12, "n_layers is 65537, must be 1 to 65536"},
      {SET(n_heads, 0), Status::shape, 16, "n_heads is 0, must be 1 to 65536"},
      {SET(n_heads, 6), Status::shape, 16, "n_heads is 6, must divide dim (32) where head_dim is 0"},
      {SET(n_heads, 32), Status::shape, 16,
       "n_heads is 32, must make dim / n_heads (dim is 32) even where head_dim is 0"},
      {SET(n_kv_heads, 0), Status::shape, 20, "n_kv_heads is 0, must be 1 to 65536"},
      {SET(n_kv_heads, 3), Status::shape, 20, "n_kv_heads is 3, must divide n_heads (4)"},
      {SET(n_kv_heads, 8), Status::shape, 20, "n_kv_heads is 8, must divide n_heads (4)"},
      {SET(hidden_dim, 0), Status::shape, 24, "hidden_dim is 0, must be 1 to 65536"},
      {SET(hidden_dim, 65568), Status::shape, 24, "hidden_dim is 65568, must be 1 to 65536"},
      {SET(hidden_dim, 65), Status::shape, 24, "hidden_dim is 65, must be a multiple of 32"},
      {SET(vocab, 2), Status::shape, 28, "vocab is 2, must be 3 to 16777216"},
      {SET(vocab, 16777217), Status::shape, 28, "vocab is 16777217, must be 3 to 16777216"},
      {SET(max_seq, 0), Status::shape, 32, "max_seq is 0, must be 1 to 16777216"},
      {SET(max_seq, 16777217), Status::shape, 32, "max_seq is 16777217, must be 1 to 16777216"},
      {SET(rope_theta, 0), Status::format, 36, "rope_theta is 0, must be finite and > 0"},
      {SET(rope_theta, -1), Status::format, 36, "rope_theta is -1, must be finite and > 0"},
      {SET(rope_theta, kNaN), Status::format, 36, "rope_theta is nan, must be finite and > 0"},
      {SET(rope_theta, kInfinity), Status::format, 36, "rope_theta is inf, must be finite and > 0"},
      {SET(norm_eps, -1e-5f), Status::format, 40, "norm_eps is -1e-05, must be finite and >= 0"},
      {SET(norm_eps, kNaN), Status::format, 40, "norm_eps is nan, must be finite and >= 0"},
      {SET(wtype, 0), Status::format, 44, "wtype is 0, must be 1 (Q8_0) or 2 (Q4_0)"},
      {SET(wtype, 3), Status::format, 44, "wtype is 3, must be 1 (Q8_0) or 2 (Q4_0)"},
      {SET(rope_type, 4), Status::format, 52,
       "rope_type is 4, must be 0 (plain), 1 (llama3), 2 (linear) or 3 (yarn)"},
      {SET(rope_factor, kNaN), Status::format, 56, "rope_factor is nan, must be finite"},
      {SET(rope_type, 2), Status::format, 56,
       "rope_factor is 0, must be > 0 where rope_type is 1, 2 or 3 (it is 2)"},
      {WITH(llama3, rope_factor, -8), Status::format, 56,
       "rope_factor is -8, must be > 0 where rope_type is 1, 2 or 3 (it is 1)"},
      {WITH(yarn, rope_factor, 0), Status::format, 56,
       "rope_factor is 0, must be > 0 where rope_type is 1, 2 or 3 (it is 3)"},
      {SET(rope_low_freq_factor, kInfinity), Status::format, 60,
       "rope_low_freq_factor is inf, must be finite"},
      {WITH(llama3, rope_low_freq_factor, 0), Status::format, 60,
       "rope_low_freq_factor is 0, must be > 0 where rope_type is 1 or 3 (it is 1)"},
      {SET(rope_high_freq_factor, -kInfinity), Status::format, 64,
       "rope_high_freq_factor is -inf, must be finite"},
      {WITH(llama3, rope_high_freq_factor, 1), Status::format, 64,
       "rope_high_freq_factor is 1, must be > rope_low_freq_factor (1) for llama3"},
      {WITH(yarn, rope_high_freq_factor, 0), Status::format, 64,
       "rope_high_freq_factor is 0, must be > 0 and < rope_low_freq_factor (32) for yarn"},
      {WITH(yarn, rope_high_freq_factor, 32), Status::format, 64,
       "rope_high_freq_factor is 32, must be > 0 and < rope_low_freq_factor (32) for yarn"},
      {WITH(llama3, rope_orig_max_seq, 0), Status::format, 68,
       "rope_orig_max_seq is 0, must be > 0 where rope_type is 1 or 3 (it is 1)"},
      {WITH(yarn, rope_orig_max_seq, 0), Status::format, 68,
       "rope_orig_max_seq is 0, must be > 0 where rope_type is 1 or 3 (it is 3)"},
      {SET(q8_mask, 4), Status::format, 72, "q8_mask is 4, must be 0 where wtype is 1 (Q8_0)"},
      {[](MlbHeader& h) {
         h.wtype = 2;
         h.q8_mask = 128;
       },
       Status::format, 72, "q8_mask is 128, must not have bits beyond 127"},
      {SET(qkv_bias, 2), Status::format, 76, "qkv_bias is 2, must be 0 or 1"},
      {SET(head_dim, 65), Status::shape, 80, "head_dim is 65, must be even"},
      {SET(head_dim, 6), Status::shape, 80,
       "head_dim is 6, must make q_dim (head_dim x n_heads, 4) a multiple of 32"},
      {SET(head_dim, 16392), Status::shape, 80,
       "head_dim is 16392, must make q_dim (head_dim x n_heads, 4) at most 65536"},
      {SET(head_dim, 0xfffffff8u), Status::shape, 80,
       "head_dim is 4294967288, must make q_dim (head_dim x n_heads, 4) at most 65536"},
      {SET(qk_norm, 2), Status::format, 84, "qk_norm is 2, must be 0 or 1"},
      {SET(rope_attn_factor, 1), Status::format, 88, "rope_attn_factor is 1, must be 0 without yarn"},
      {SET(rope_attn_factor, kNaN), Status::format, 88, "rope_attn_factor is nan, must be 0 without yarn"},
      {WITH(yarn, rope_attn_factor, 0), Status::format, 88,
       "rope_attn_factor is 0, must be finite and > 0 for yarn"},
      {WITH(yarn, rope_attn_factor, kInfinity), Status::format, 88,
       "rope_attn_factor is inf, must be finite and > 0 for yarn"},
      {SET(sliding_window, 16777217), Status::format, 92,
       "sliding_window is 16777217, must be 0 to 16777216"},
      {SET(layer_flags, 2), Status::format, 96, "layer_flags is 2, must be 0 or 1"},
      {SET(rope_local_theta, -1), Status::format, 100, "rope_local_theta is -1, must be finite and >= 0"},
      {SET(rope_local_theta, kInfinity), Status::format, 100,
       "rope_local_theta is inf, must be finite and >= 0"},
      {SET(act, 2), Status::format, 104, "act is 2, must be 0 (SiLU) or 1 (GELU)"},
      {SET(post_norms, 2), Status::format, 108, "post_norms is 2, must be 0 or 1"},
      {SET(embed_scale, -1), Status::format, 112, "embed_scale is -1, must be finite and >= 0"},
      {SET(embed_scale, kNaN), Status::format, 112, "embed_scale is nan, must be finite and >= 0"},
      {SET(attn_scale, -1), Status::format, 116, "attn_scale is -1, must be finite and >= 0"},
      {SET(attn_scale, kInfinity), Status::format, 116, "attn_scale is inf, must be finite and >= 0"},
      {SET(scale_f16, 2), Status::format, 120, "scale_f16 is 2, must be 0 or 1"},
      {SET(attn_softcap, -1), Status::format, 124, "attn_softcap is -1, must be finite and >= 0"},
      {SET(attn_softcap, kNaN), Status::format, 124, "attn_softcap is nan, must be finite and >= 0"},
      {SET(final_softcap, -1), Status::format, 128, "final_softcap is -1, must be finite and >= 0"},
      {SET(final_softcap, kInfinity), Status::format, 128, "final_softcap is inf, must be finite and >= 0"},
      {SET(rot_dim, 3), Status::shape, 132, "rot_dim is 3, must be even"},
      {SET(rot_dim, 10), Status::shape, 132,
       "rot_dim is 10, must be at most the head's size (dim 32, n_heads 4, head_dim 0)"},
      {SET(attn_gate, 2), Status::format, 136, "attn_gate is 2, must be 0 or 1"},
      {WITH(linear_layers, lin_k_heads, 0), Status::shape, 140,
       "lin_k_heads is 0, must be 1 to 65536 where any lin_ field is set"},
      {WITH(linear_layers, lin_v_heads, 0), Status::shape, 144,
       "lin_v_heads is 0, must be 1 to 65536 where any lin_ field is set"},
      {WITH(linear_layers, lin_v_heads, 65540), Status::shape, 144,
       "lin_v_heads is 65540, must be 1 to 65536 where any lin_ field is set"},
      {[](MlbHeader& h) {
         linear_layers(h);
         h.lin_k_heads = 3;
       },
       Status::shape, 144, "lin_v_heads is 4, must be a multiple of lin_k_heads (3)"},
      {WITH(linear_layers, lin_v_heads, 6), Status::shape, 144, "lin_v_heads is 6, must be a multiple of 4"},
      {WITH(linear_layers, lin_k_dim, 0), Status::shape, 148,
       "lin_k_dim is 0, must be 1 to 65536 where any lin_ field is set"},
      {WITH(linear_layers, lin_v_dim, 0), Status::shape, 152,
       "lin_v_dim is 0, must be 1 to 65536 where any lin_ field is set"},
      {WITH(linear_layers, lin_v_dim, 6), Status::shape, 152,
       "lin_v_dim is 6, must make lin_v_heads x lin_v_dim (4 heads) a multiple of 32"},
      {WITH(linear_layers, lin_conv, 0), Status::shape, 156,
       "lin_conv is 0, must be 1 to 65536 where any lin_ field is set"},
      {SET(padding[0], std::byte{1}), Status::format, 160,
       "padding is not zero, must be zero up to offset 256"},
      {SET(padding[95], std::byte{255}), Status::format, 255,
       "padding is not zero, must be zero up to offset 256"},
  };
  return rows;
}

}  // namespace

TEST_CASE("the fields of the header lie where the format says", "[mlb]") {
  const std::map<std::string_view, std::uint32_t> expected{
      {"magic", 0},
      {"version", 4},
      {"dim", 8},
      {"n_layers", 12},
      {"n_heads", 16},
      {"n_kv_heads", 20},
      {"hidden_dim", 24},
      {"vocab", 28},
      {"max_seq", 32},
      {"rope_theta", 36},
      {"norm_eps", 40},
      {"wtype", 44},
      {"shared_classifier", 48},
      {"rope_type", 52},
      {"rope_factor", 56},
      {"rope_low_freq_factor", 60},
      {"rope_high_freq_factor", 64},
      {"rope_orig_max_seq", 68},
      {"q8_mask", 72},
      {"qkv_bias", 76},
      {"head_dim", 80},
      {"qk_norm", 84},
      {"rope_attn_factor", 88},
      {"sliding_window", 92},
      {"layer_flags", 96},
      {"rope_local_theta", 100},
      {"act", 104},
      {"post_norms", 108},
      {"embed_scale", 112},
      {"attn_scale", 116},
      {"scale_f16", 120},
      {"attn_softcap", 124},
      {"final_softcap", 128},
      {"rot_dim", 132},
      {"attn_gate", 136},
      {"lin_k_heads", 140},
      {"lin_v_heads", 144},
      {"lin_k_dim", 148},
      {"lin_v_dim", 152},
      {"lin_conv", 156},
      {"padding", 160},
  };
  CHECK(mlb_fields().size() == expected.size());
  for (const MlbField& field : mlb_fields()) {
    CAPTURE(field.name);
    REQUIRE(expected.count(field.name) == 1);
    CHECK(expected.at(field.name) == field.offset);
  }
}

TEST_CASE("every header field has a rule, every rule a field", "[mlb]") {
  std::set<std::string_view> ruled;
  for (const MlbRule& rule : mlb_rules()) {
    CAPTURE(rule.field);
    CHECK(find_mlb_field(rule.field) != nullptr);
    ruled.insert(rule.field);
  }
  for (const MlbField& field : mlb_fields()) {
    CAPTURE(field.name);
    CHECK(ruled.count(field.name) == 1);
  }
}

TEST_CASE("values print in short", "[mlb]") {
  MlbBuilder builder;
  CHECK(mlb_field_value(builder.header, *find_mlb_field("magic")) == "MLB1");
  CHECK(mlb_field_value(builder.header, *find_mlb_field("dim")) == "32");
  CHECK(mlb_field_value(builder.header, *find_mlb_field("norm_eps")) == "1e-05");
  CHECK(mlb_field_value(builder.header, *find_mlb_field("padding")) == "zero");
  CHECK(mlb_layer_flags_text(0) == "-");
  CHECK(mlb_layer_flags_text(3) == "window,local_rope");
  CHECK(mlb_layer_flags_text(0x8c) == "no_rope,linear,bit7");
}

TEST_CASE("valid headers pass", "[mlb]") {
  CHECK(mlb_header_defects(MlbBuilder().header).empty());
  CHECK(mlb_header_defects(MlbBuilder::everything().header).empty());
  MlbBuilder builder;
  builder.header.shared_classifier = 0xdeadbeef;
  CHECK(mlb_header_defects(builder.header).empty());
  for (void (*setup)(MlbHeader&) : {yarn, llama3, linear_layers}) {
    builder = {};
    setup(builder.header);
    CHECK(mlb_header_defects(builder.header).empty());
  }
}

TEST_CASE("each broken rule is named with status, offset, field, value and requirement", "[mlb]") {
  std::set<const MlbRule*> broken;
  for (const Mutation& row : mutations()) {
    CAPTURE(row.message);
    MlbBuilder builder;
    row.change(builder.header);
    for (const MlbRule& rule : mlb_rules()) {
      if (!rule.holds(builder.header)) broken.insert(&rule);
    }
    const std::vector<Error> defects = mlb_header_defects(builder.header);
    const auto expected = std::find_if(defects.begin(), defects.end(),
                                       [&](const Error& defect) { return defect.message == row.message; });
    REQUIRE(expected != defects.end());
    CHECK(expected->status == row.status);
    CHECK(expected->offset == row.offset);

    const std::string file = header_bytes(builder.header);
    const auto read = read_mlb_header(bytes_of(file));
    REQUIRE_FALSE(read);
    CHECK(read.error().message == defects.front().message);
    const std::vector<Error> checked = check_mlb(bytes_of(file));
    REQUIRE(checked.size() == defects.size());
    for (std::size_t i = 0; i < defects.size(); ++i) CHECK(checked[i].message == defects[i].message);
  }
  for (const MlbRule& rule : mlb_rules()) {
    CAPTURE(rule.field, rule.requirement);
    CHECK((broken.count(&rule) == 1) == (rule.field != "shared_classifier"));
  }
}

TEST_CASE("a header with several faults reports each", "[mlb]") {
  MlbBuilder builder;
  builder.header.dim = 48;
  builder.header.wtype = 9;
  builder.header.norm_eps = kNaN;
  const std::vector<Error> defects = mlb_header_defects(builder.header);
  REQUIRE(defects.size() == 3);
  CHECK(defects[0].offset == 8);
  CHECK(defects[1].offset == 40);
  CHECK(defects[2].offset == 44);
}
