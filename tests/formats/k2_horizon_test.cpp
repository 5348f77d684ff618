#include "catch.hpp"
#include "folder.hpp"
#include "formats/folder.hpp"
#include "formats/shards.hpp"

#include <ml/seed_pack.hpp>

#include <functional>

using namespace ml;
using nlohmann::json;

namespace {

// Two layers, the first one dense.
struct TinyMova : TinyCheckpoint {
  TinyMova() {
    config = {{"architectures", {"K2HorizonForCausalLM"}},
              {"model_type", "k2_horizon"},
              {"hidden_size", 128},
              {"intermediate_size", 32},
              {"num_hidden_layers", 2},
              {"num_attention_heads", 2},
              {"num_key_value_heads", 1},
              {"head_dim", 128},
              {"vocab_size", 8},
              {"max_position_embeddings", 64},
              {"rms_norm_eps", 1e-6},
              {"rope_parameters", {{"rope_theta", 1e7}, {"rope_type", "default"}}},
              {"layernorm_num_groups", 2},
              {"mlp_only_layers", {0}},
              {"num_experts", 3},
              {"num_experts_per_tok", 2},
              {"moe_intermediate_size", 16},
              {"mova_num_experts", 2},
              {"mova_num_experts_per_tok", 1},
              {"router_scaling_factor", 2.5}};
    tensors.clear();
    add("model.embed_tokens.weight", {8, 128});
    add("model.norm.weight", {128});
    add("lm_head.weight", {8, 128});
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      add(layer + "input_layernorm.weight", {128});
      add(layer + "post_attention_layernorm.weight", {128});
      add(layer + "self_attn.q_proj.weight", {256, 128});
      add(layer + "self_attn.gate_proj.weight", {256, 128});
      add(layer + "self_attn.k_proj.weight", {128, 128});
      add(layer + "self_attn.o_proj.weight", {128, 256});
    }
    add("model.layers.0.self_attn.v_proj.weight", {128, 128});
    add_network("model.layers.0.mlp.", {}, 32);
    const std::string sparse = "model.layers.1.";
    add(sparse + "self_attn.v_router.weight", {2, 128});
    add(sparse + "self_attn.v_router.bias", {2});
    add(sparse + "self_attn.v_experts.weight", {2, 128, 128});
    add(sparse + "mlp.gate.weight", {3, 128});
    add(sparse + "mlp.gate.bias", {3});
    add_network(sparse + "mlp.experts.", {3}, 16);
    add_network(sparse + "mlp.shared_experts.", {}, 16);
  }

  void add_network(const std::string& start, const std::vector<std::uint64_t>& lead, std::uint64_t hidden) {
    const auto with = [&](std::uint64_t rows, std::uint64_t cols) {
      std::vector<std::uint64_t> shape = lead;
      shape.push_back(rows);
      shape.push_back(cols);
      return shape;
    };
    add(start + "gate_proj.weight", with(hidden, 128));
    add(start + "up_proj.weight", with(hidden, 128));
    add(start + "down_proj.weight", with(128, hidden));
  }
};

Result<Model> open_changed(const std::function<void(TinyMova&)>& change) {
  const TempFolder folder;
  TinyMova checkpoint;
  change(checkpoint);
  checkpoint.write(folder);
  return open_folder(folder.path(), {});
}

std::string outcome(const std::function<void(TinyMova&)>& change) {
  const auto model = open_changed(change);
  if (model) return "";
  Error error = model.error();
  error.path.clear();
  return describe(error);
}

std::string with_config(const std::string& key, const json& value) {
  return outcome([&](TinyMova& checkpoint) { checkpoint.config[key] = value; });
}

}  // namespace

TEST_CASE("a K2-Horizon folder opens with its mixtures", "[convert]") {
  const auto model = open_changed([](TinyMova&) {});
  REQUIRE(model);
  const ModelDesc& desc = model->desc();
  CHECK(desc.norm_groups == 2);
  CHECK(desc.attn_gate);
  CHECK(desc.gate_function == GateFunction::softplus);
  CHECK(desc.rope.theta == 1e7f);
  CHECK_FALSE(desc.layers[0].sparse);
  CHECK(desc.layers[1].sparse);
  const MixtureDesc& mixture = desc.mixture;
  CHECK(mixture.n_experts == 3);
  CHECK(mixture.n_chosen == 2);
  CHECK(mixture.expert_dim == 16);
  CHECK(mixture.n_value_experts == 2);
  CHECK(mixture.n_chosen_values == 1);
  CHECK(mixture.factor == 2.5f);
  REQUIRE(model->find_all(Role::expert_w2, 1).size() == 3);
  const Tensor& last = model->find_all(Role::expert_w2, 1)[2];
  CHECK(last.name == "model.layers.1.mlp.experts.down_proj.weight");
  CHECK(last.expert == 2);
  CHECK(last.view.rows == 128);
  CHECK(last.view.cols == 16);
  CHECK(model->find_all(Role::v_expert, 1).size() == 2);
  CHECK(model->find_all(Role::v_expert, 0).empty());
  CHECK(model->find(Role::wv, 1) == nullptr);
  CHECK(model->find(Role::w1, 1) == nullptr);
}

TEST_CASE("every layer may be dense or sparse, and there may be one expert", "[convert]") {
  CHECK(outcome([](TinyMova& c) {
          c.config["num_hidden_layers"] = 1;
          c.config["mlp_only_layers"] = {0};
          std::erase_if(c.tensors,
                        [](const auto& entry) { return entry.first.find("layers.1.") != std::string::npos; });
        }) == "");
  CHECK(outcome([](TinyMova& c) {
          c.config["num_hidden_layers"] = 1;
          c.config["mlp_only_layers"] = json::array();
          std::map<std::string, TinyCheckpoint::Entry> kept;
          for (const auto& [name, entry] : c.tensors) {
            if (name.find("layers.0.") != std::string::npos) continue;
            std::string renamed = name;
            if (const auto at = name.find("layers.1."); at != std::string::npos)
              renamed.replace(at, 9, "layers.0.");
            kept[renamed] = entry;
          }
          c.tensors = kept;
        }) == "");
  // Writers leave out dimensions of 1 in front.
  CHECK(outcome([](TinyMova& c) {
          c.config["mova_num_experts"] = 1;
          c.tensors["model.layers.1.self_attn.v_router.weight"].shape = {128};
          c.tensors["model.layers.1.self_attn.v_router.bias"].shape = {1};
          c.tensors["model.layers.1.self_attn.v_experts.weight"].shape = {128, 128};
        }) == "");
  CHECK(outcome([](TinyMova& c) {
          c.config["rope_parameters"].erase("rope_theta"), c.config["rope_theta"] = 1e4;
        }) == "");
}

TEST_CASE("a packed folder with one expert opens, its routers written as one row", "[convert]") {
  const TempFolder folder;
  TinyMova checkpoint;
  checkpoint.config["num_experts"] = checkpoint.config["num_experts_per_tok"] = 1;
  checkpoint.config["mova_num_experts"] = 1;
  for (auto& [name, entry] : checkpoint.tensors) {
    if (name.find("experts") != std::string::npos && name.find("shared") == std::string::npos)
      entry.shape[0] = 1;
    if (name.find("v_router") != std::string::npos || name.find("mlp.gate.") != std::string::npos)
      entry.shape[0] = 1;
  }
  checkpoint.write(folder);
  REQUIRE(open_folder(folder.path(), {}));
  for (const Encoding encoding : {Encoding::bf16, Encoding::q8g64}) {
    const std::string out = folder.file(std::string(encoding_info(encoding).name));
    REQUIRE(pack_model(folder.path(), out, {.encoding = encoding, .threads = 2}));
    const auto model = open_folder(out, {});
    REQUIRE(model);
    CHECK(model->find(Role::router, 1)->view.rows == 1);
    CHECK(model->find(Role::v_router, 1)->view.cols == 128);
    const auto shards = open_shards(out);
    REQUIRE(shards);
    for (const SafetensorsTensor& tensor : (*shards)[0].file.tensors) {
      if (tensor.name.ends_with("router.weight") || tensor.name.ends_with("mlp.gate.weight"))
        CHECK(tensor.shape == std::vector<std::uint64_t>{128});
    }
  }
}

TEST_CASE("every value of a config that K2-Horizon cannot have is named", "[convert]") {
  const std::string there =
      " is missing, must be there: the k2_horizon family assumes no value (ML_E_FORMAT)";
  for (const std::string key : {"num_key_value_heads", "head_dim", "rms_norm_eps", "mlp_only_layers"})
    CHECK(with_config(key, nullptr) == key + there);
  CHECK(outcome([](TinyMova& c) { c.config.erase("rope_parameters"); }) == "rope_theta" + there);
  for (const std::string key : {"num_experts", "moe_intermediate_size", "mova_num_experts"}) {
    CHECK(with_config(key, nullptr) == key + " is missing, must be an integer from 1 to 65536 (ML_E_FORMAT)");
    CHECK(with_config(key, 0) == key + " is 0, must be an integer from 1 to 65536 (ML_E_SHAPE)");
  }
  const std::pair<std::pair<std::string, json>, std::string> table[] = {
      {{"num_experts_per_tok", nullptr},
       "num_experts_per_tok is missing, must be an integer from 1 to 3 (ML_E_FORMAT)"},
      {{"num_experts_per_tok", 4}, "num_experts_per_tok is 4, must be an integer from 1 to 3 (ML_E_SHAPE)"},
      {{"mova_num_experts_per_tok", 3},
       "mova_num_experts_per_tok is 3, must be an integer from 1 to 2 (ML_E_SHAPE)"},
      {{"router_scaling_factor", nullptr},
       "router_scaling_factor is missing, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"router_scaling_factor", -1},
       "router_scaling_factor is -1, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"layernorm_num_groups", nullptr},
       "layernorm_num_groups is missing, must be an integer from 1 to 1024 (ML_E_FORMAT)"},
      {{"layernorm_num_groups", 4},
       "hidden_size is 128, must be a multiple of 64 x layernorm_num_groups, 4 (ML_E_SHAPE)"},
      {{"head_dim", 64}, "head_dim is 64, must be 128 (ML_E_SHAPE)"},
      {{"mlp_only_layers", {1}},
       "mlp_only_layers is a list, must be [0, 1, ...], the first of the 2 layers (ML_E_FORMAT)"},
      {{"mlp_only_layers", {0, 1, 2}},
       "mlp_only_layers is a list, must be [0, 1, ...], the first of the 2 layers (ML_E_FORMAT)"},
      {{"hidden_act", "gelu"},
       "hidden_act is \"gelu\", must be silu for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"router_score_func", "softmax"},
       "router_score_func is \"softmax\", must be sigmoid for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"attention_gate_func", "sigmoid"},
       "attention_gate_func is \"sigmoid\", must be softplus for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"query_key_norm", true},
       "query_key_norm is true, must be false for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"use_sliding_window", true},
       "use_sliding_window is true, must be false for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"norm_topk_prob", false},
       "norm_topk_prob is false, must be true for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"moe_gate_bias", false},
       "moe_gate_bias is false, must be true for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"moe_gate_bias", 1}, "moe_gate_bias is 1, must be true or false (ML_E_FORMAT)"},
      {{"tie_word_embeddings", true},
       "tie_word_embeddings is true, must be false for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"num_shared_experts", 2},
       "num_shared_experts is 2, must be 1 for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"decoder_sparse_step", 2},
       "decoder_sparse_step is 2, must be 1 for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"rope_head_dim", 64},
       "rope_head_dim is 64, must be 128 for the k2_horizon family (ML_E_UNSUPPORTED)"},
      {{"rope_parameters", {{"rope_theta", 1e7}, {"rope_type", "linear"}, {"factor", 2}}},
       "rope_parameters.rope_type is \"linear\", must be default for the k2_horizon family "
       "(ML_E_UNSUPPORTED)"},
  };
  for (const auto& [change, message] : table) {
    INFO(message);
    CHECK(with_config(change.first, change.second) == message);
  }
}

TEST_CASE("tensors of mixtures that do not fit are named", "[convert]") {
  const std::string stack = "model.layers.1.mlp.experts.gate_proj.weight";
  CHECK(outcome([&](TinyMova& c) { c.tensors.erase(stack); }) ==
        "the config implies 1 tensor (" + stack + ") that the checkpoint lacks (ML_E_FORMAT)");
  CHECK(outcome([&](TinyMova& c) {
          c.tensors[stack].shape = {3, 128, 16};
        }) == "shape is [3, 128, 16], the config implies [3, 16, 128] (ML_E_SHAPE, tensor " + stack + ")");
  CHECK(outcome([](TinyMova& c) { c.config["num_experts"] = 4; }).find("the config implies [4, 128]") !=
        std::string::npos);
  CHECK(outcome([](TinyMova& c) { c.tensors.erase("model.layers.1.self_attn.v_router.bias"); }) ==
        "the config implies 1 tensor (model.layers.1.self_attn.v_router.bias) that the checkpoint lacks "
        "(ML_E_FORMAT)");
  CHECK(outcome([](TinyMova& c) {
          c.add("model.layers.1.self_attn.v_proj.weight", {128, 128});
        }) ==
        "the checkpoint holds 1 tensor (model.layers.1.self_attn.v_proj.weight) that a model of the "
        "k2_horizon family "
        "with this config has not (ML_E_FORMAT)");
  // A tensor for each expert, one of them missing, of another shape, or beyond the last.
  const auto apart = [&](TinyMova& c) {
    c.tensors.erase(stack);
    for (const std::string expert : {"0", "1", "2"})
      c.add("model.layers.1.mlp.experts." + expert + ".gate_proj.weight", {16, 128});
  };
  const std::string one = "model.layers.1.mlp.experts.1.gate_proj.weight";
  CHECK(outcome(apart) == "");
  CHECK(outcome([&](TinyMova& c) { apart(c), c.tensors.erase(one); }) ==
        "the config implies 1 tensor (" + one + ") that the checkpoint lacks (ML_E_FORMAT)");
  CHECK(outcome([&](TinyMova& c) {
          apart(c), c.tensors[one].shape = {128, 16};
        }) == "shape is [128, 16], the config implies [16, 128] (ML_E_SHAPE, tensor " + one + ")");
  CHECK(outcome([&](TinyMova& c) {
          apart(c), c.add("model.layers.1.mlp.experts.3.gate_proj.weight", {16, 128});
        }) ==
        "the checkpoint holds 1 tensor (model.layers.1.mlp.experts.3.gate_proj.weight) that a model of the "
        "k2_horizon "
        "family with this config has not (ML_E_FORMAT)");
}

TEST_CASE("counts of experts beyond what a checkpoint holds cost nothing", "[convert]") {
  CHECK(outcome([](TinyMova& c) {
          c.config["num_hidden_layers"] = 65536;
          c.config["num_experts"] = 65536;
          c.config["mova_num_experts"] = 65536;
        }).find("ML_E_SHAPE") != std::string::npos);
}
