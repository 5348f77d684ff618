// Folders with latent attention: what config.json and the shards say, in every encoding, and what is refused.

#include "folder.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "models.hpp"

#include <ml/mlb.hpp>
#include <ml/seed_pack.hpp>
#include <ml/session.hpp>

#include <functional>

using namespace ml;

namespace {

// Two layers with heads of 128: the first of rank 64, the second with ordinary attention.
struct LatentCheckpoint : TinyCheckpoint {
  LatentCheckpoint() {
    config["head_dim"] = 128;
    config["num_attention_heads"] = 2;
    config["num_key_value_heads"] = 2;
    config["mla_ranks"] = {64, 0};
    config["mla_rope_dim"] = 128;
    for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
      for (const char* name : {"q_proj.weight", "k_proj.weight", "v_proj.weight"})
        add(layer + name, {256, 64});
      add(layer + "o_proj.weight", {64, 256});
    }
    tensors.erase("model.layers.0.self_attn.k_proj.weight");
    tensors.erase("model.layers.0.self_attn.v_proj.weight");
    const std::string mla = "model.layers.0.self_attn.mla.";
    add(mla + "kv_a_x", {64, 64});
    add(mla + "k_rope_proj", {128, 64});
    add(mla + "q_rope_mix", {2, 128, 128});
    add(mla + "q_lat", {2, 64, 128});
    add(mla + "v_up", {2, 128, 64});
  }
};

std::string refusal(const std::function<void(LatentCheckpoint&)>& change) {
  const TempFolder folder;
  LatentCheckpoint checkpoint;
  change(checkpoint);
  checkpoint.write(folder);
  const auto model = Model::open(folder.path());
  return model ? "" : model.error().message;
}

const std::string kPrefix = "model.layers.0.self_attn.";

}  // namespace

TEST_CASE("config.json says which layers have latent attention, and how it is used", "[latent]") {
  const TempFolder folder;
  LatentCheckpoint checkpoint;
  checkpoint.config["mla_kv"] = "fp8";
  checkpoint.config["mla_max_context"] = 100;
  checkpoint.write(folder);
  const Model model = open_model(folder.path());
  const ModelDesc& desc = model.desc();
  CHECK(desc.layers[0].kind == LayerKind::latent_attention);
  CHECK(desc.layers[0].rank == 64);
  CHECK(desc.layers[1].kind == LayerKind::attention);
  CHECK(desc.latent.kv == KvType::fp8);
  CHECK(desc.max_seq == 100);
  CHECK(model.find(Role::q_lat, 0)->view.rows == 128);
  CHECK(model.find(Role::wk, 0) == nullptr);
  CHECK(Session::create(model, {.ctx = 101}).error().message ==
        "context of 101 positions, but the model allows 100");
  // latent: 64 + 2 + 132; keys and values of two heads in BF16
  CHECK(kv_bytes_a_token(desc, KvType::fp8) == 198 + 1024);
}

TEST_CASE("what a folder with latent attention must not be is refused by name", "[latent]") {
  const auto config = [](const std::string& key, const nlohmann::json& value) {
    return refusal([&](LatentCheckpoint& c) { c.config[key] = value; });
  };
  CHECK(refusal([](LatentCheckpoint&) {}) == "");
  CHECK(config("mla_ranks", 64) == "mla_ranks is 64, must be a list of integers from 0 to 4294967295");
  CHECK(config("mla_ranks", {64, -32}) ==
        "mla_ranks is a list, must be a list of integers from 0 to 4294967295");
  CHECK(config("mla_ranks", {64}) == "mla_ranks has 1 elements, must have one for each of the 2 layers");
  CHECK(config("mla_ranks", {64, 0, 0}) ==
        "mla_ranks has 3 elements, must have one for each of the 2 layers");
  CHECK(config("mla_ranks", {48, 0}) == "mla_ranks[0] is 48, must be 0 or a multiple of 32 up to 1024");
  CHECK(config("mla_ranks", {64, 1056}) == "mla_ranks[1] is 1056, must be 0 or a multiple of 32 up to 1024");
  CHECK(config("mla_rope_dim", 64) == "mla_rope_dim is 64, must be 128");
  CHECK(config("mla_max_context", 0) == "mla_max_context is 0, must be an integer from 1 to 4294967295");
  CHECK(config("mla_kv", "q4") == "mla_kv is \"q4\", must be bf16, q8, fp8 or fp4");
  CHECK(config("mla_kv", 8) == "mla_kv is 8, must be a string");
  CHECK(
      refusal([](LatentCheckpoint& c) { c.config["head_dim"] = 64; }).starts_with("head_dim is 64 with 64"));

  const auto lacks = [](const std::string& name) {
    CHECK(refusal([&](LatentCheckpoint& c) { c.tensors.erase(name); }) ==
          "the config implies 1 tensor (" + name + ") that the checkpoint lacks");
  };
  for (const char* name : {"kv_a_x", "k_rope_proj", "q_rope_mix", "q_lat", "v_up"})
    lacks(kPrefix + "mla." + name);
  lacks("model.layers.1.self_attn.k_proj.weight");
  const auto holds = [](const std::string& name) {
    CHECK(refusal([&](LatentCheckpoint& c) {
            c.add(name, {2, 64, 128});
          }) == "the checkpoint holds 1 tensor (" + name +
                    ") that a model of the llama family with this config has not");
  };
  holds("model.layers.1.self_attn.mla.q_lat");
  holds(kPrefix + "mla.kv_a_v");
  holds(kPrefix + "mla.q_lat.weight");
  const auto wrong = [](const std::string& name, std::vector<std::uint64_t> shape, const std::string& dtype) {
    return refusal([&](LatentCheckpoint& c) { c.add(kPrefix + "mla." + name, std::move(shape), 0, dtype); });
  };
  CHECK(wrong("q_lat", {2, 128, 64}, "F32") == "shape is [2, 128, 64], the config implies [2, 64, 128]");
  CHECK(wrong("q_lat", {128, 128}, "F32") == "shape is [128, 128], the config implies [2, 64, 128]");
  CHECK(wrong("kv_a_x", {64, 32}, "F32") == "shape is [64, 32], the config implies [64, 64]");
  CHECK(wrong("v_up", {2, 128, 64}, "I32") == "dtype is I32, weights must be F32, F16 or BF16");
}

TEST_CASE("keys and values that latent attention replaces may stay in the checkpoint", "[latent]") {
  CHECK(refusal([](LatentCheckpoint& c) {
          c.add(kPrefix + "k_proj.weight", {256, 64});
          c.add(kPrefix + "v_proj.weight", {256, 64});
        }) == "");
}

TEST_CASE("tensors of latent attention may lie in a file of their own", "[latent]") {
  const TempFolder folder;
  LatentCheckpoint checkpoint;
  const auto latent = [](const std::string& name) { return name.find(".mla.") != name.npos; };
  folder.write("config.json", checkpoint.config.dump());
  folder.write("model.safetensors", checkpoint.safetensors([&](const auto& name) { return !latent(name); }));
  CHECK(!Model::open(folder.path()));
  folder.write("model-mla-delta.safetensors", checkpoint.safetensors(latent));
  const Model model = open_model(folder.path());
  CHECK(model.find(Role::v_up, 0)->view.cols == 64);
}

TEST_CASE("tensors of latent attention run in every encoding, affine maps without an input of 64 excepted",
          "[latent]") {
  const Model plain = open_model(data_path("mova/llama-mla"));
  for (const Encoding encoding : pack_encodings()) {
    INFO(encoding_info(encoding).name);
    const TempFolder folder;
    SeedPackOptions options{.encoding = Encoding::bf16, .mla = encoding, .threads = 2};
    if (encoding_info(encoding).seed_bytes != 0) {
      // The search takes its time: one tensor stands for all.
      options.mla = Encoding::bf16;
      options.rules.push_back({"*.layers.2.self_attn.mla.q_lat*", encoding});
    }
    const auto report = pack_model(data_path("mova/llama-mla"), folder.file("packed"), options);
    REQUIRE(report);
    const Model model = open_model(folder.file("packed"));
    CHECK(model.find(Role::q_lat, 2)->view.encoding == encoding);
    CHECK(model.find(Role::v_up, 0)->view.encoding ==
          (encoding == Encoding::q4g32 ? Encoding::q4g32 : Encoding::bf16));
    const std::vector<std::uint32_t> tokens{5, 90, 17, 4};
    std::vector<float> first;
    for (const Target target : available_targets()) {
      auto session = Session::create(model, {.ctx = 8, .target = target});
      REQUIRE(session);
      const auto logits = session->eval(tokens);
      REQUIRE(logits);
      if (first.empty()) first.assign(logits->begin(), logits->end());
      CHECK(std::equal(first.begin(), first.end(), logits->begin()));
    }
  }
}

TEST_CASE("latent attention has no place in other formats", "[latent]") {
  const Model model = open_model(data_path("mova/llama-mla"));
  const auto plan = plan_quantize(model, {});
  REQUIRE(!plan);
  CHECK(plan.error().message == "latent attention (mla_ranks) has no place in a .mlb or .mog");
}
