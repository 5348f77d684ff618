#include "convert/rope.hpp"
#include "catch.hpp"
#include "convert/config.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <tuple>

using namespace ml;
using nlohmann::json;

namespace {

Result<RopeDesc> rope_of(const json& config) {
  const auto parsed = Config::parse(config.dump(), "config.json");
  REQUIRE(parsed);
  return read_rope(*parsed, 10000.0f, 64, 4096);
}

bool same(const RopeDesc& a, const RopeDesc& b) {
  return a.type == b.type && a.layout == b.layout && a.theta == b.theta && a.factor == b.factor &&
         a.low_freq_factor == b.low_freq_factor && a.high_freq_factor == b.high_freq_factor &&
         a.orig_max_seq == b.orig_max_seq && a.attn_factor == b.attn_factor &&
         a.local_theta == b.local_theta && a.rot_dim == b.rot_dim;
}

RopeDesc expected(RopeDesc rope) {
  rope.layout = RopeLayout::rotate_half;
  rope.rot_dim = 64;
  return rope;
}

float yarn_default(float factor) { return static_cast<float>(0.1 * std::log(double(factor)) + 1.0); }

}  // namespace

TEST_CASE("RoPE is read in every spelling", "[convert]") {
  const json llama3 = {{"factor", 8.0},
                       {"low_freq_factor", 1},
                       {"high_freq_factor", 4},
                       {"original_max_position_embeddings", 64}};
  const auto plus = [](json object, const std::string& key, const json& value) {
    object[key] = value;
    return object;
  };
  const RopeDesc llama3_desc{.type = RopeType::llama3,
                             .theta = 500000,
                             .factor = 8,
                             .low_freq_factor = 1,
                             .high_freq_factor = 4,
                             .orig_max_seq = 64};
  const json yarn = {{"type", "yarn"}, {"factor", 4}, {"original_max_position_embeddings", 256}};
  const RopeDesc yarn_desc{.type = RopeType::yarn,
                           .factor = 4,
                           .low_freq_factor = 32,
                           .high_freq_factor = 1,
                           .orig_max_seq = 256,
                           .attn_factor = yarn_default(4)};
  const auto yarn_with = [&](float attn_factor, float fast = 32, float slow = 1) {
    RopeDesc rope = yarn_desc;
    rope.attn_factor = attn_factor, rope.low_freq_factor = fast, rope.high_freq_factor = slow;
    return rope;
  };

  const std::pair<json, RopeDesc> table[] = {
      {json::object(), {}},
      {{{"rope_theta", 500000.0}}, {.theta = 500000}},
      {{{"rope_theta", nullptr}, {"rope_scaling", nullptr}}, {}},
      {{{"rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "default"}}}}, {.theta = 1e6f}},
      {{{"rope_theta", 5}, {"rope_parameters", {{"rope_theta", 7}}}}, {.theta = 7}},
      {{{"rope_theta", 5}, {"rope_scaling", {{"type", "default"}}}}, {.theta = 5}},
      {{{"rope_scaling", json::object()}, {"rope_parameters", {{"rope_theta", 7}}}}, {.theta = 7}},
      {{{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}, {.type = RopeType::linear, .factor = 4}},
      {{{"rope_scaling", {{"rope_type", "linear"}, {"type", "dynamic"}, {"factor", 4}}}},
       {.type = RopeType::linear, .factor = 4}},
      {{{"rope_theta", 500000}, {"rope_scaling", plus(llama3, "rope_type", "llama3")}}, llama3_desc},
      {{{"rope_parameters", plus(plus(llama3, "rope_type", "llama3"), "rope_theta", 500000)}}, llama3_desc},
      {{{"rope_scaling", yarn}}, yarn_desc},
      {{{"rope_scaling", plus(plus(yarn, "beta_fast", nullptr), "beta_slow", 0)}}, yarn_desc},
      {{{"rope_scaling", plus(plus(yarn, "beta_fast", 16), "beta_slow", 2)}},
       yarn_with(yarn_default(4), 16, 2)},
      {{{"rope_scaling", plus(yarn, "attention_factor", 1.5)}}, yarn_with(1.5f)},
      {{{"rope_scaling", plus(yarn, "mscale", 2)}}, yarn_desc},  // one mscale alone says nothing
      {{{"rope_scaling", plus(plus(yarn, "mscale", 1.0), "mscale_all_dim", 1.0)}}, yarn_with(1)},
      {{{"rope_scaling", plus(plus(yarn, "mscale", 2.0), "mscale_all_dim", 1.0)}},
       yarn_with(static_cast<float>((0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1)))},
      {{{"rope_scaling", {{"type", "yarn"}, {"factor", 1}}}},
       {.type = RopeType::yarn,
        .factor = 1,
        .low_freq_factor = 32,
        .high_freq_factor = 1,
        .orig_max_seq = 4096,
        .attn_factor = 1}},
  };
  for (const auto& [config, desc] : table) {
    INFO(config.dump());
    const auto rope = rope_of(config);
    REQUIRE(rope);
    CHECK(same(*rope, expected(desc)));
  }
}

TEST_CASE("RoPE that no .mlb can say is refused with key and value", "[convert]") {
  const auto scaling = [](json object) { return json{{"rope_scaling", std::move(object)}}; };
  const std::string kinds = ", must be default, linear, llama3 or yarn";
  const std::string positive = ", must be a number above 0 within float32 (ML_E_FORMAT)";
  const std::pair<json, std::string> table[] = {
      {scaling({{"type", "yarn"}, {"factor", 3e38}, {"mscale", 3e38}, {"mscale_all_dim", 1e-30}}),
       "rope_scaling.mscale is 3e+38, must be such that the attention factor, mscale's over "
       "mscale_all_dim's, is "
       "finite (ML_E_FORMAT)"},
      {scaling({{"type", "dynamic"}, {"factor", 2}}),
       "rope_scaling.type is \"dynamic\"" + kinds + " (ML_E_UNSUPPORTED)"},
      {scaling({{"rope_type", "longrope"}}),
       "rope_scaling.rope_type is \"longrope\"" + kinds + " (ML_E_UNSUPPORTED)"},
      {{{"rope_parameters", {{"rope_type", "su"}}}},
       "rope_parameters.rope_type is \"su\"" + kinds + " (ML_E_UNSUPPORTED)"},
      {scaling({{"factor", 2}}), "rope_scaling.rope_type is missing" + kinds + " (ML_E_FORMAT)"},
      {scaling({{"type", 1}}), "rope_scaling.type is 1, must be a string (ML_E_FORMAT)"},
      {{{"rope_scaling", 2.0}}, "rope_scaling is 2.0, must be an object (ML_E_FORMAT)"},
      {scaling({{"type", "linear"}}), "rope_scaling.factor is missing" + positive},
      {scaling({{"type", "linear"}, {"factor", -1}}), "rope_scaling.factor is -1" + positive},
      {scaling({{"type", "llama3"}, {"factor", 2}}), "rope_scaling.low_freq_factor is missing" + positive},
      {scaling({{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}),
       "rope_scaling.high_freq_factor is 4, must be above low_freq_factor (ML_E_FORMAT)"},
      {scaling({{"type", "llama3"},
                {"factor", 2},
                {"low_freq_factor", 1},
                {"high_freq_factor", 4},
                {"original_max_position_embeddings", 8.5}}),
       "rope_scaling.original_max_position_embeddings is 8.5, must be an integer from 1 to 16777216 "
       "(ML_E_FORMAT)"},
      {scaling({{"type", "yarn"}, {"factor", 2}, {"beta_fast", 1}}),
       "rope_scaling.beta_fast is 1, must be above beta_slow (ML_E_FORMAT)"},
      {scaling({{"type", "yarn"}, {"factor", 2}, {"attention_factor", 0}}),
       "rope_scaling.attention_factor is 0" + positive},
      {scaling({{"type", "yarn"}, {"factor", 2}, {"truncate", false}}),
       "rope_scaling.truncate is false, must be true (a .mlb cannot say otherwise) (ML_E_UNSUPPORTED)"},
  };
  for (const auto& [config, message] : table) {
    INFO(message);
    const auto rope = rope_of(config);
    REQUIRE_FALSE(rope);
    CHECK(describe(rope.error()) == "config.json: " + message);
  }
}

TEST_CASE("as much of a head rotates as its factor says in decimals", "[convert]") {
  for (const auto& [factor, head_dim, rot_dim] :
       {std::tuple(0.7, 80u, 56u), {0.4, 80u, 32u}, {0.5, 64u, 32u}, {0.25, 256u, 64u}, {1.0, 96u, 96u}}) {
    const auto config = Config::parse(json{{"partial_rotary_factor", factor}}.dump(), "config.json");
    REQUIRE(config);
    ModelDesc desc;
    desc.head_dim = head_dim;
    REQUIRE(read_partial_rotary(*config, 1, desc));
    CHECK(desc.rope.rot_dim == rot_dim);
  }
}
