// Recipes: what they can say, and every mistake by its JSON path.

#include "models.hpp"
#include "mog_support.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace ml;
using nlohmann::json;

namespace {

json entry(const std::string& name, const std::string& path, const std::string& encoding = "f32") {
  return {{"name", name}, {"file", "w"}, {"path", path}, {"encoding", encoding}};
}

// A recipe of the tiny checkpoint, with explicit values.
json tiny_recipe() {
  json layer = json::array();
  for (const auto& [slot, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"attn_norm", "input_layernorm.weight"},
           {"q_proj", "self_attn.q_proj.weight"},
           {"k_proj", "self_attn.k_proj.weight"},
           {"v_proj", "self_attn.v_proj.weight"},
           {"o_proj", "self_attn.o_proj.weight"},
           {"ffn_norm", "post_attention_layernorm.weight"},
           {"gate_proj", "mlp.gate_proj.weight"},
           {"up_proj", "mlp.up_proj.weight"},
           {"down_proj", "mlp.down_proj.weight"}}) {
    layer.push_back(entry(std::string("layers.{i}.") + slot, std::string("model.layers.{i}.") + name));
  }
  return {{"architecture", "llama"},
          {"files", {{"w", "model.safetensors"}, {"config", "config.json"}}},
          {"config",
           {{"dim", {{"file", "config"}, {"path", "hidden_size"}}},
            {"n_layers", 2},
            {"n_heads", 4},
            {"n_kv_heads", 2},
            {"hidden_dim", 96},
            {"vocab", 40},
            {"max_seq", 128},
            {"rope_theta", 10000.0},
            {"norm_eps", 1e-5},
            {"layer_flags", {0, 4}}}},
          {"tensors",
           {entry("embed", "model.embed_tokens.weight"),
            {{"for", "i"}, {"range", {0, 2}}, {"entries", layer}},
            entry("norm", "model.norm.weight"),
            entry("lm_head", "lm_head.weight")}}};
}

// What planning says of a recipe over the tiny checkpoint; "" where it is right.
std::string message_of(const json& recipe, const MogPackOptions& options = {}) {
  const TempFolder folder;
  TinyCheckpoint().write(folder);
  folder.write("recipe.json", recipe.dump());
  const auto pack = MogPack::plan(folder.file("recipe.json"), options);
  return pack ? "" : pack.error().message;
}

}  // namespace

TEST_CASE("a recipe with values of its own packs the tiny checkpoint", "[mog][recipe]") {
  const TempFolder folder;
  TinyCheckpoint().write(folder);
  folder.write("recipe.json", tiny_recipe().dump());
  const auto report = pack_mog(folder.file("recipe.json"), "", folder.file("a.mog"));
  CHECK(report.tensors.size() == 21);
  CHECK(report.config.rope_layout == 1);
  const Model model = open_model(folder.file("a.mog"));
  CHECK(model.desc().dim == 64);
  CHECK(model.desc().layers[1].no_rope);
  CHECK_FALSE(model.desc().layers[0].no_rope);
}

TEST_CASE("loops nest, and their variables stand in every string", "[mog][recipe]") {
  json recipe = tiny_recipe();
  const json layer = recipe["tensors"][1]["entries"];
  json inner = json::array();
  for (json one : layer) {
    for (const char* key : {"name", "path"}) {
      auto text = one[key].get<std::string>();
      text.replace(text.find("{i}"), 3, "{j}");
      one[key] = text;
    }
    one["encoding"] = "f{k}2";
    inner.push_back(one);
  }
  recipe["tensors"][1] = {{"for", "k"},
                          {"range", {3, 4}},
                          {"entries",
                           {{{"for", "j"},
                             {"range", {0, {{"file", "config"}, {"path", "num_hidden_layers"}}}},
                             {"entries", inner}}}}};
  CHECK(message_of(recipe).empty());
}

TEST_CASE("values come from objects and lists in each other, weights from an index", "[mog][recipe]") {
  const TempFolder folder;
  TinyCheckpoint tiny;
  tiny.config["layers"] = {{{"width", 1}}, {{"width", 64}}};
  tiny.write(folder);
  json index;
  for (const auto& [name, entry] : tiny.tensors) index["weight_map"][name] = "model.safetensors";
  folder.write("model.safetensors.index.json", index.dump());
  json recipe = tiny_recipe();
  recipe["config"]["dim"]["path"] = "layers.1.width";
  recipe["files"]["w"] = "model.safetensors.index.json";
  recipe["tensors"][0]["encoding"] = "int4_g32_f32";
  std::string packed[2];
  for (const bool round : {false, true}) {
    recipe["tensors"][0]["rule"] = round ? "round" : "search";
    folder.write("recipe.json", recipe.dump());
    pack_mog(folder.file("recipe.json"), "", folder.file("a.mog"));
    CHECK(open_model(folder.file("a.mog")).desc().dim == 64);
    packed[round] = read_file(folder.file("a.mog"));
  }
  CHECK(packed[0].size() == packed[1].size());
}

TEST_CASE("a tensor that holds no floats is refused by its dtype", "[mog][recipe]") {
  const TempFolder folder;
  TinyCheckpoint tiny;
  tiny.tensors["model.norm.weight"].dtype = "I32";
  tiny.write(folder);
  folder.write("recipe.json", tiny_recipe().dump());
  const auto pack = MogPack::plan(folder.file("recipe.json"), {});
  REQUIRE_FALSE(pack);
  CHECK(pack.error().status == Status::unsupported);
  CHECK(pack.error().message ==
        "tensors[2].path is \"model.norm.weight\", whose dtype is I32; weights must be F32, F16 or BF16");
}

TEST_CASE("every mistake in a recipe is named with its JSON path", "[mog][recipe]") {
  struct Mistake {
    const char* message;
    std::function<void(json&)> change;
  };
  const auto q = [](json& r) -> json& { return r["tensors"][1]["entries"][1]; };
  const std::vector<Mistake> rows{
      {"tensors is missing", [](json& r) { r.erase("tensors"); }},
      {"extra is an unknown key", [](json& r) { r["extra"] = 1; }},
      {"architecture is \"gpt2\", must be one of llama, mistral",
       [](json& r) { r["architecture"] = "gpt2"; }},
      {"files.w is \"../model.safetensors\", must be a path below the root",
       [](json& r) { r["files"]["w"] = "../model.safetensors"; }},
      {"files.w is \"a/../../b\", must be a path below the root",
       [](json& r) { r["files"]["w"] = "a/../../b"; }},
      {"files.w is \"/etc/passwd\", must be a path below the root",
       [](json& r) { r["files"]["w"] = "/etc/passwd"; }},
      {"files.w is 3, must be a path", [](json& r) { r["files"]["w"] = 3; }},
      {"config is 3, must be an object or \"auto\"", [](json& r) { r["config"] = 3; }},
      {"config.width is an unknown key", [](json& r) { r["config"]["width"] = 3; }},
      {"config.padding is an unknown key", [](json& r) { r["config"]["padding"] = 3; }},
      {"config.dim.path is \"nothing\", which config does not have",
       [](json& r) { r["config"]["dim"]["path"] = "nothing"; }},
      {"config.dim.file is \"other\", must be a name in files: config, w",
       [](json& r) { r["config"]["dim"]["file"] = "other"; }},
      {"config.dim.file is \"other\", must be a name in files: config, n0, n1, n10, n11 and 19 more",
       [](json& r) {
         for (int i = 0; i < 22; ++i) r["files"][fmt::format("n{}", i)] = "x";
         r["config"]["dim"]["file"] = "other";
       }},
      {"config.dim.path is 3, must be a string", [](json& r) { r["config"]["dim"]["path"] = 3; }},
      {"config.dim.path is \"layers.2.dim\", which config does not have",
       [](json& r) { r["config"]["dim"]["path"] = "layers.2.dim"; }},
      {"config.dim.key is an unknown key", [](json& r) { r["config"]["dim"]["key"] = 1; }},
      {"config.n_heads is -4, must be an integer", [](json& r) { r["config"]["n_heads"] = -4; }},
      {"config.n_heads is \"4\", must be an integer", [](json& r) { r["config"]["n_heads"] = "4"; }},
      {"config.norm_eps is true, must be a number within float32",
       [](json& r) { r["config"]["norm_eps"] = true; }},
      {"config.norm_eps is 1e-60, must be a number within float32",
       [](json& r) { r["config"]["norm_eps"] = 1e-60; }},
      {"config.norm_eps is 1e+39, must be a number within float32",
       [](json& r) { r["config"]["norm_eps"] = 1e39; }},
      {"config.layer_flags is a list, must be a list of n_layers integers, 2",
       [](json& r) { r["config"]["layer_flags"] = {0}; }},
      {"config.layer_flags[1] is 256",
       [](json& r) {
         r["config"]["layer_flags"] = {0, 256};
       }},
      {"config: dim is 0, must be 1 to 65536", [](json& r) { r["config"].erase("dim"); }},
      {"config: n_kv_heads is 3, must divide n_heads", [](json& r) { r["config"]["n_kv_heads"] = 3; }},
      {"architecture is \"qwen2\", but config.json is that of a llama",
       [](json& r) {
         r["architecture"] = "qwen2";
         r["config"] = "auto";
       }},
      {"config is \"auto\", but files has no \"config\"",
       [](json& r) {
         r["config"] = "auto";
         r["files"].erase("config");
       }},
      {"tokenizer.file is missing", [](json& r) { r["tokenizer"] = json::object(); }},
      {"tokenizer.file is 3, must be a string",
       [](json& r) {
         r["tokenizer"] = {{"file", 3}};
       }},
      {"tokenizer.optional is 1, must be true or false",
       [](json& r) {
         r["tokenizer"] = {{"file", "w"}, {"optional", 1}};
       }},
      {"tokenizer.file is \"t\", must be a name in files",
       [](json& r) {
         r["tokenizer"] = {{"file", "t"}};
       }},
      {"tensors is an object, must be a list", [](json& r) { r["tensors"] = json::object(); }},
      {"tensors[0] is 5, must be an object", [](json& r) { r["tensors"][0] = 5; }},
      {"tensors[0].name is \"embeds\", which is no slot",
       [](json& r) { r["tensors"][0]["name"] = "embeds"; }},
      {"tensors[0].name is missing", [](json& r) { r["tensors"][0].erase("name"); }},
      {"tensors[0].dtype is an unknown key", [](json& r) { r["tensors"][0]["dtype"] = "f32"; }},
      {"tensors[0].encoding is \"int8\", must be f32", [](json& r) { r["tensors"][0]["encoding"] = "int8"; }},
      {"tensors[0].encoding is \"int8_g16_f32\", must be f32",
       [](json& r) { r["tensors"][0]["encoding"] = "int8_g16_f32"; }},
      {"tensors[0].path is \"embed\", which w does not hold",
       [](json& r) { r["tensors"][0]["path"] = "embed"; }},
      {"tensors[0].file is \"v\", must be a name in files", [](json& r) { r["tensors"][0]["file"] = "v"; }},
      {"tensors[0].optional is 1, must be true or false", [](json& r) { r["tensors"][0]["optional"] = 1; }},
      {"tensors[0].rule is \"best\", must be search or round",
       [](json& r) { r["tensors"][0]["rule"] = "best"; }},
      {"tensors[0].transform is 7, must be a string", [](json& r) { r["tensors"][0]["transform"] = 7; }},
      {"tensors[0].transform[1] is 7, must be a string",
       [](json& r) {
         r["tensors"][0]["transform"] = {"squeeze", 7};
       }},
      {"tensors[0].path is \"model.{i}\", whose {i} is no variable",
       [](json& r) { r["tensors"][0]["path"] = "model.{i}"; }},
      {"tensors[0].path is \"a}\", whose {} is no variable", [](json& r) { r["tensors"][0]["path"] = "a}"; }},
      {"tensors[0] gives embed the shape [64] of tensor model.norm.weight, the config implies [40, 64]",
       [](json& r) { r["tensors"][0]["path"] = "model.norm.weight"; }},
      {"tensors[4].name is \"embed\", which tensors[0] gives already",
       [](json& r) { r["tensors"].push_back(r["tensors"][0]); }},
      {"tensors give nothing to 1 slot (norm)", [](json& r) { r["tensors"].erase(2); }},
      {"tensors[1].for is 3, must be a name", [](json& r) { r["tensors"][1]["for"] = 3; }},
      {"tensors[1].for is \"j\", but no entry has {j}", [](json& r) { r["tensors"][1]["for"] = "j"; }},
      {"tensors[1].entries[9].for is \"i\", the variable of a loop around it",
       [](json& r) {
         r["tensors"][1]["entries"].push_back(
             {{"for", "i"}, {"range", {0, 1}}, {"entries", {entry("{i}", "")}}});
       }},
      {"tensors[1].range is missing", [](json& r) { r["tensors"][1].erase("range"); }},
      {"tensors[1].range is a list, must be [first, end]", [](json& r) { r["tensors"][1]["range"] = {0}; }},
      {"tensors[1].range is 2 to 0, must not go down",
       [](json& r) {
         r["tensors"][1]["range"] = {2, 0};
       }},
      {"tensors[1].range[0] is -1, must be an integer of 0 or more",
       [](json& r) {
         r["tensors"][1]["range"] = {-1, 2};
       }},
      {"tensors[1].range[1] is 1.5, must be an integer of 0 or more",
       [](json& r) {
         r["tensors"][1]["range"] = {0, 1.5};
       }},
      {"tensors[1].range[1] is \"llama\", must be an integer",
       [](json& r) {
         r["tensors"][1]["range"] = {0, {{"file", "config"}, {"path", "model_type"}}};
       }},
      {"tensors[1].range[1].path is \"layers\"",
       [](json& r) {
         r["tensors"][1]["range"] = {0, {{"file", "config"}, {"path", "layers"}}};
       }},
      {"tensors[1].entries[0].path is \"model.layers.2.input_layernorm.weight\"",
       [](json& r) {
         r["tensors"][1]["range"] = {2, 4};
         r["config"]["n_layers"] = 3;
         r["config"]["layer_flags"] = {0, 0, 0};
       }},
      {"which a model with this config does not have",
       [](json& r) {
         r["tensors"][1]["range"] = {0, 3};
       }},
      {"makes more than 131072 entries",
       [](json& r) {
         r["tensors"][0]["optional"] = true;
         json entries = json::array();
         entries.push_back({{"for", "j"},
                            {"range", {0, 1u << 31}},
                            {"entries",
                             {{{"name", "embed"},
                               {"file", "w"},
                               {"path", "{i}{j}"},
                               {"encoding", "f32"},
                               {"optional", true}}}}});
         r["tensors"][1] = {{"for", "i"}, {"range", {0, 1u << 31}}, {"entries", entries}};
       }},
      {"makes more than 131072 entries",
       [](json& r) {
         r["tensors"][1] = {
             {"for", "i"},
             {"range", {0, 1ull << 60}},
             {"entries", {{{"for", "j"}, {"range", {0, 0}}, {"entries", {entry("{i}{j}", "")}}}}}};
       }},
      {"makes more than 131072 entries",  // loops over nothing, many in each turn
       [](json& r) {
         const json nothing{{"for", "j"}, {"range", {0, 0}}, {"entries", {entry("{i}{j}", "")}}};
         r["tensors"][1] = {{"for", "i"}, {"range", {0, 1000}}, {"entries", json(200, nothing)}};
       }},
      {"makes texts of more than 67108864 bytes",
       [](json& r) {
         r["tensors"][1] = {
             {"for", "i"}, {"range", {0, 1000}}, {"entries", {entry("{i}" + std::string(100'000, 'x'), "")}}};
       }},
      {"makes texts of more than 67108864 bytes",  // empty ones
       [q](json& r) {
         r["tensors"][1]["range"] = {0, 2000};
         q(r)["transform"] = json(2000, "");
       }},
      {"tensors[1].entries[1].transform is \"transpose\", must be rope_interleave",
       [q](json& r) { q(r)["transform"] = "transpose"; }},
      {"tensors[1].entries[1].transform has the bounds \"5\"",
       [q](json& r) { q(r)["transform"] = "rows:5"; }},
      {"tensors[1].entries[1].transform has the bounds \"0:x\"",
       [q](json& r) { q(r)["transform"] = "rows:0:x"; }},
      {"tensors[1].entries[1].transform takes rows 0 to 65 of 64",
       [q](json& r) { q(r)["transform"] = "rows:0:65"; }},
      {"tensors[1].entries[1].transform takes rows 3 to 3 of 64",
       [q](json& r) { q(r)["transform"] = "rows:3:3"; }},
      {"tensors[1].entries[1].transform takes rows 0 to 17 of 16",
       [q](json& r) { q(r)["transform"] = "head_rows:0:head_dim+1"; }},
      {"needs rows in heads of 16",
       [q](json& r) {
         q(r)["transform"] = {"rows:0:17", "rope_interleave"};
         r["config"]["rope_layout"] = 0;
       }},
      {"tensors[1].entries[2] gives layers.0.k_proj without rope_interleave, but",
       [q](json& r) { q(r)["transform"] = "rope_interleave"; }},
      {"tensors[0].encoding of embed: columns are 64, must be a multiple of 128 for int8_g128_f32",
       [](json& r) { r["tensors"][0]["encoding"] = "int8_g128_f32"; }},
      {"tensors[0].encoding of embed: rows are 40, must be a multiple of 16 for int4r16_g32_f16",
       [](json& r) { r["tensors"][0]["encoding"] = "int4r16_g32_f16"; }},
  };
  for (const Mistake& row : rows) {
    json recipe = tiny_recipe();
    row.change(recipe);
    const std::string message = message_of(recipe);
    CAPTURE(row.message, message);
    CHECK(message.find(row.message) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(message_of(json::array()).find("recipe is a list, must be an object") == 0);
}

TEST_CASE("overrides: the last match counts, all of them must match", "[mog][recipe]") {
  const TempFolder folder;
  TinyCheckpoint().write(folder);
  folder.write("recipe.json", tiny_recipe().dump());
  const auto report = pack_mog(folder.file("recipe.json"), "", folder.file("a.mog"),
                               {{"layers.*_proj", "int8_g32_f16"}, {"layers.1.q_proj", "int4_g64_f32"}});
  for (const MogPackedTensor& tensor : report.tensors) {
    INFO(tensor.slot);
    const bool proj = tensor.slot.ends_with("_proj");
    CHECK(tensor.encoding == (tensor.slot == "layers.1.q_proj" ? "int4_g64_f32"
                              : proj                           ? "int8_g32_f16"
                                                               : "f32"));
  }
  CHECK(message_of(tiny_recipe(), {.overrides = {{"layers.9.*", "f32"}}}) ==
        "no tensor's slot matches layers.9.*");
  CHECK(message_of(tiny_recipe(), {.overrides = {{"embed", "q8"}}})
            .find("encoding of embed is \"q8\", must be") == 0);
}

TEST_CASE("packing twice, with any threads and on every target, gives the same bytes", "[mog][recipe]") {
  const TempFolder folder;
  const std::vector<MogOverride> overrides{{"*_proj", "int4r16_g64_f16"}};
  pack_mog(recipe_path("qwen3"), data_path("models/qwen3-stories"), folder.file("a.mog"), overrides, 1);
  pack_mog(recipe_path("qwen3"), data_path("models/qwen3-stories"), folder.file("b.mog"), overrides, 5);
  const std::string wanted = read_file(folder.file("a.mog"));
  CHECK(wanted == read_file(folder.file("b.mog")));
  for (const Target target : available_targets()) {
    INFO(target_name(target));
    pack_mog(recipe_path("qwen3"), data_path("models/qwen3-stories"), folder.file("b.mog"), overrides, 2,
             target);
    CHECK(wanted == read_file(folder.file("b.mog")));
  }
}

TEST_CASE("a tensor without elements is refused before its other dimension counts", "[mog][recipe]") {
  const TempFolder folder;
  const std::string name = "model.layers.0.self_attn.q_proj.weight";
  for (const json& transform : {json("rope_interleave"), json("rows:0:8"), json("squeeze"), json()}) {
    TinyCheckpoint tiny;
    tiny.add(name, {std::uint64_t(1) << 40, 0});
    tiny.write(folder);
    json recipe = tiny_recipe();
    for (const int projection : {1, 2})  // of queries and keys
      if (!transform.is_null()) recipe["tensors"][1]["entries"][projection]["transform"] = transform;
    folder.write("recipe.json", recipe.dump());
    const auto pack = MogPack::plan(folder.file("recipe.json"), {});
    REQUIRE_FALSE(pack);
    CHECK(pack.error().status == Status::shape);
    CHECK(pack.error().message == "tensors[1].entries[1] gives layers.0.q_proj the tensor " + name +
                                      " of shape [1099511627776, 0], which has no elements");
  }
}

TEST_CASE("weights that a file cannot hold are named", "[mog][recipe]") {
  const TempFolder folder;
  const auto message = [&](float value, const std::string& encoding) {
    TinyCheckpoint tiny;
    tiny.tensors["model.layers.1.self_attn.q_proj.weight"].value = value;
    tiny.write(folder);
    folder.write("recipe.json", tiny_recipe().dump());
    const auto pack =
        MogPack::plan(folder.file("recipe.json"), {.overrides = {{"layers.1.q_proj", encoding}}});
    REQUIRE(pack);
    auto out = OutputFile::create(folder.file("x.mog"), {});
    const auto written = pack->write(*out);
    REQUIRE_FALSE(written);
    CHECK(written.error().tensor == "model.layers.1.self_attn.q_proj.weight");
    return written.error().message;
  };
  CHECK(message(NAN, "f32") == "weight of row 0, column 0 is NaN, must be finite");
  CHECK(message(INFINITY, "int8_g32_f32") == "weight of row 0, column 0 is infinite, must be finite");
  CHECK(message(70000, "f16") == "weight of row 0, column 0 is 70000, too large for f16");
  CHECK(message(1e9f, "int4_g32_f16") == "scale of row 0, group 0 is over 65504 and cannot be stored as f16");
  constexpr float kLargest = std::numeric_limits<float>::max();  // 127 steps of 1/127 of it round over
  CHECK(message(kLargest, "int8_g32_f32") ==
        "weights of row 0, group 0 are so large that quant x scale overflows f32");
  CHECK_FALSE(std::filesystem::exists(folder.file("x.mog")));
}

TEST_CASE("a hidden width that is no multiple of 32 grows by zeros", "[mog][recipe]") {
  const TempFolder folder;
  const auto report =
      pack_mog(recipe_path("llama"), data_path("models/stories260K"), folder.file("a.mog"), {{"*", "f32"}});
  CHECK(report.config.hidden_dim == 192);
  CHECK(report.notes.back() == "hidden_dim 172 is no multiple of 32: zeros up to 192, which change nothing");
}
