// Config keys in their other spellings mean the same model; what no .mlb can say is refused by key and value.

#include "catch.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

using namespace ml;
using nlohmann::json;

namespace {

using Edit = std::function<void(json&)>;

// The checkpoint with an edited config.
void copy_edited(const std::string& name, const TempFolder& folder, const Edit& edit) {
  for (const auto& entry : std::filesystem::directory_iterator(data_path("oracle/" + name))) {
    if (entry.path().extension() == ".safetensors" ||
        entry.path().filename() == "model.safetensors.index.json") {
      std::filesystem::copy_file(entry.path(), folder.file(entry.path().filename().string()));
    }
  }
  json config = json::parse(read_file(data_path("oracle/" + name + "/config.json")));
  edit(config);
  std::ofstream(folder.file("config.json")) << config;
}

std::vector<float> logits_with(const std::string& name, const Edit& edit) {
  const TempFolder folder;
  copy_edited(name, folder, edit);
  const Model model = open_model(folder.path());
  return logits_of(model, Golden(data_path("oracle/" + name)).tokens, {});
}

void to_rope_parameters(json& config) {
  json rope = config["rope_scaling"].is_object() ? config["rope_scaling"] : json{{"rope_type", "default"}};
  rope["rope_theta"] = config["rope_theta"];
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config["rope_parameters"] = rope;
}

void to_layer_types(json& config, const std::vector<const char*>& types) { config["layer_types"] = types; }

}  // namespace

TEST_CASE("every spelling of a config means the same model", "[convert]") {
  constexpr const char* kLocal = "sliding_attention";
  constexpr const char* kFull = "full_attention";
  const std::pair<const char*, Edit> cases[] = {
      {"llama31-rope-llama3", to_rope_parameters},
      {"qwen2-yarn", to_rope_parameters},
      {"phi3-fused", to_rope_parameters},
      {"phi3-fused", [](json& c) { c["partial_rotary_factor"] = 1.0; }},
      {"smollm3-nope", [](json& c) { c.erase("no_rope_layers"); }},  // every fourth by default
      {"qwen2-bias-tied", [](json& c) { c["use_sliding_window"] = true, c["max_window_layers"] = 3; }},
      {"qwen35-hybrid", [](json& c) { c["text_config"].erase("layer_types"); }},
      {"qwen35-hybrid",
       [](json& c) {
         json text = c["text_config"];
         text["architectures"] = {"Qwen3_5ForCausalLM"};
         c = text;
       }},
      {"gemma2",
       [&](json& c) {
         to_layer_types(c, {kLocal, kFull, kLocal, kFull});
       }},
      {"gemma3-text",
       [&](json& c) {
         to_layer_types(c, {kLocal, kLocal, kFull, kLocal});
       }},
      {"gemma3-text",
       [](json& c) {  // transformers 5
         for (const char* key : {"rope_scaling", "rope_theta", "rope_local_base_freq"}) c.erase(key);
         c["rope_parameters"] = {
             {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1000000}}},
             {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000}}}};
       }},
      {"gemma3-text",
       [](json& c) {  // the text part of a vision-language model
         json text = c;
         text.erase("architectures");
         c = {{"architectures", {"Gemma3ForConditionalGeneration"}},
              {"model_type", "gemma3"},
              {"text_config", text}};
       }},
  };
  for (const auto& [name, edit] : cases) {
    INFO(name);
    const auto expected = logits_with(name, [](json&) {});
    const auto got = logits_with(name, edit);
    REQUIRE(got.size() == expected.size());
    CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("keys that change the model change its logits", "[convert]") {
  const std::pair<const char*, Edit> cases[] = {
      {"qwen2-bias-tied", [](json& c) { c["use_sliding_window"] = true, c["max_window_layers"] = 0; }},
      {"gemma2", [](json& c) { c.erase("attn_logit_softcapping"); }},       // 50 by default
      {"gemma2", [](json& c) { c["final_logit_softcapping"] = nullptr; }},  // none
      {"gemma3-text", [](json& c) { c["query_pre_attn_scalar"] = 32; }},
      {"smollm3-nope",
       [](json& c) {
         c["no_rope_layers"] = {1, 1, 1, 1, 1};
       }},
      {"qwen3-headdim", [](json& c) { c["rope_theta"] = 10000; }},
  };
  for (const auto& [name, edit] : cases) {
    INFO(name);
    CHECK(logits_with(name, edit) != logits_with(name, [](json&) {}));
  }
}

TEST_CASE("what no .mlb can say is refused by key and value", "[convert]") {
  struct Refusal {
    const char* name;
    Edit edit;
    const char* message;
  };
  const Refusal cases[] = {
      {"qwen3-headdim", [](json& c) { c["model_type"] = "qwen3_moe"; },
       "model_type is \"qwen3_moe\", must be"},
      {"phi3-fused",
       [](json& c) {
         c["rope_scaling"] = {{"type", "longrope"}};
       },
       "rope_scaling.type is \"longrope\""},
      {"phi3-fused",
       [](json& c) {
         c["rope_scaling"] = {{"type", "su"}};
       },
       "rope_scaling.type is \"su\""},
      {"llama2-mha",
       [](json& c) {
         c["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2}};
       },
       "rope_scaling.rope_type is \"dynamic\""},
      {"gemma2", [](json& c) { c["hidden_activation"] = "gelu"; }, "hidden_activation is \"gelu\""},
      {"gemma3-text", [](json& c) { c["use_bidirectional_attention"] = true; },
       "use_bidirectional_attention is true"},
      {"qwen35-hybrid", [](json& c) { c["text_config"]["attention_bias"] = true; }, "attention_bias is true"},
      {"qwen35-hybrid",
       [](json& c) {
         c["text_config"]["partial_rotary_factor"] = 0.01;
         c["text_config"]["rope_parameters"].erase("partial_rotary_factor");
       },
       "partial_rotary_factor is 0.01"},
      {"qwen3-headdim", [](json& c) { c["partial_rotary_factor"] = 0.5; }, "partial_rotary_factor is 0.5"},
      {"mistral-sliding", [](json& c) { c["partial_rotary_factor"] = 0.5; }, "partial_rotary_factor is 0.5"},
      {"smollm3-nope", [](json& c) { c["partial_rotary_factor"] = 0.5; }, "partial_rotary_factor is 0.5"},
      {"gemma2", [](json& c) { c["final_logit_softcapping"] = 1e-60; }, "final_logit_softcapping is 1e-60"},
      {"gemma3-text",
       [](json& c) {
         c["rope_parameters"] = {
             {"full_attention", {{"rope_type", "default"}, {"partial_rotary_factor", 0.25}}}};
       },
       "rope_parameters.full_attention.partial_rotary_factor is 0.25"},
      {"gemma2", [](json& c) { c["layer_types"] = {"sliding_attention"}; }, "layer_types has 1 elements"},
      {"gemma2",
       [](json& c) {
         c["layer_types"] = {"full_attention", "full_attention", "full_attention", "chunked"};
       },
       "layer_types is"},
  };
  for (const auto& [name, edit, message] : cases) {
    INFO(name << ": " << message);
    const TempFolder folder;
    copy_edited(name, folder, edit);
    const auto model = Model::open(folder.path());
    REQUIRE_FALSE(model);
    INFO(describe(model.error()));
    CHECK(model.error().message.find(message) != std::string::npos);
  }
}
