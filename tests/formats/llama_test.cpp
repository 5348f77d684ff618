#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/folder.hpp"

#include <functional>

using namespace ml;
using nlohmann::json;

namespace {

Result<Model> open_changed(const std::function<void(TinyCheckpoint&)>& change) {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  change(checkpoint);
  checkpoint.write(folder);
  return open_folder(folder.path(), {});
}

std::string defect(const Result<Model>& model) {
  REQUIRE_FALSE(model);
  Error error = model.error();
  error.path.clear();
  return describe(error);
}

void add_biases(TinyCheckpoint& checkpoint, float output_bias) {
  checkpoint.config["attention_bias"] = true;
  for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
    checkpoint.add(layer + "q_proj.bias", {64});
    checkpoint.add(layer + "k_proj.bias", {32});
    checkpoint.add(layer + "v_proj.bias", {32});
    checkpoint.add(layer + "o_proj.bias", {64}, output_bias);
  }
}

}  // namespace

TEST_CASE("descriptions equal the golden headers", "[convert]") {
  for (const std::string name : {"llama2-mha", "llama3-gqa-q4", "llama3-gqa-tied", "llama31-rope-llama3",
                                 "llama-linear-rope", "mistral-sliding"}) {
    INFO(name);
    const std::string folder = data_path("oracle/" + name);
    const json golden = json::parse(read_file(folder + "/golden.header.json"));
    const json& header = golden["header"];
    const auto model = open_folder(folder, {});
    REQUIRE(model);
    const ModelDesc& desc = model->desc();
    const RopeDesc& rope = desc.rope;
    CHECK(desc.dim == header["dim"]);
    CHECK(desc.n_layers() == header["n_layers"]);
    CHECK(desc.n_heads == header["n_heads"]);
    CHECK(desc.n_kv_heads == header["n_kv_heads"]);
    CHECK(desc.hidden_dim == header["hidden_dim"]);
    CHECK(desc.vocab == header["vocab"]);
    CHECK(desc.max_seq == header["max_seq"]);
    CHECK(desc.norm_eps == header["norm_eps"].get<float>());
    CHECK(desc.shared_classifier == (header["shared_classifier"] == 1));
    CHECK(static_cast<int>(rope.type) == header["rope_type"]);
    CHECK(rope.layout == RopeLayout::rotate_half);
    CHECK(rope.theta == header["rope_theta"].get<float>());
    CHECK(rope.factor == header["rope_factor"].get<float>());
    CHECK(rope.low_freq_factor == header["rope_low_freq_factor"].get<float>());
    CHECK(rope.high_freq_factor == header["rope_high_freq_factor"].get<float>());
    CHECK(rope.orig_max_seq == header["rope_orig_max_seq"]);
    CHECK(rope.attn_factor == header["rope_attn_factor"].get<float>());
    CHECK(desc.sliding_window == header["sliding_window"]);
    for (const LayerDesc& layer : desc.layers) {
      CHECK(layer.kind == LayerKind::attention);
      CHECK(layer.windowed == (desc.sliding_window != 0));
      CHECK_FALSE((layer.local_rope || layer.no_rope));
    }
    CHECK(desc.head_dim == golden["derived"]["head_dim"]);
    CHECK(desc.q_dim() == golden["derived"]["q_dim"]);
    CHECK(desc.kv_dim() == golden["derived"]["kv_dim"]);
    CHECK(rope.rot_dim == golden["derived"]["rot_dim"]);
    CHECK(model->tensors().size() == 9 * desc.n_layers() + (desc.shared_classifier ? 2 : 3));
  }
}

TEST_CASE("stories260K opens with its own hidden_dim and float32 views", "[convert]") {
  const auto model = open_folder(data_path("models/stories260K"), {});
  REQUIRE(model);
  const ModelDesc& desc = model->desc();
  CHECK(desc.dim == 64);
  CHECK(desc.n_layers() == 5);
  CHECK(desc.hidden_dim == 172);
  CHECK(desc.n_kv_heads == 4);
  CHECK(desc.head_dim == 8);
  CHECK(desc.shared_classifier);
  const Tensor* w2 = model->find(Role::w2, 4);
  REQUIRE(w2 != nullptr);
  CHECK(w2->name == "model.layers.4.mlp.down_proj.weight");
  CHECK(w2->view.rows == 64);
  CHECK(w2->view.cols == 172);
  CHECK(w2->view.encoding == Encoding::f32);
  CHECK(model->find(Role::wcls) == nullptr);
  CHECK(model->n_weights() == 260032);
}

TEST_CASE("views outlive the folder's open call", "[convert]") {
  Result<Model> model = open_changed([](TinyCheckpoint&) {});
  REQUIRE(model);
  const Model copy = *model;
  std::vector<float> row(64);
  decode_row(copy.find(Role::wk, 1)->view, 31, row);
  CHECK(row[63] == 0.5f);
}

TEST_CASE("the text model is found under any prefix", "[convert]") {
  const auto model = open_changed([](TinyCheckpoint& checkpoint) {
    std::map<std::string, TinyCheckpoint::Entry> renamed;
    for (const auto& [name, entry] : checkpoint.tensors) {
      renamed[name.starts_with("model.") ? "model.language_model." + name.substr(6) : name] = entry;
    }
    checkpoint.tensors = renamed;
  });
  REQUIRE(model);
  CHECK(model->find(Role::wq, 0)->name == "model.language_model.layers.0.self_attn.q_proj.weight");
}

TEST_CASE("tied classifiers drop an lm_head that is there", "[convert]") {
  const auto with_head = open_changed([](TinyCheckpoint& c) { c.config["tie_word_embeddings"] = true; });
  REQUIRE(with_head);
  CHECK(with_head->find(Role::wcls) == nullptr);
  const auto without = open_changed([](TinyCheckpoint& c) {
    c.config["tie_word_embeddings"] = true;
    c.tensors.erase("lm_head.weight");
  });
  CHECK(without);
}

TEST_CASE("frequencies that old checkpoints hold are ignored", "[convert]") {
  CHECK(open_changed([](TinyCheckpoint& c) { c.add("model.layers.1.self_attn.rotary_emb.inv_freq", {8}); }));
}

TEST_CASE("biases that a .mlb cannot hold must be 0", "[convert]") {
  const auto biased = open_changed([](TinyCheckpoint& c) { add_biases(c, 0.0f); });
  REQUIRE(biased);
  CHECK(biased->desc().qkv_bias);
  CHECK(biased->find(Role::bk, 1)->view.cols == 32);
  CHECK(open_changed([](TinyCheckpoint& c) { add_biases(c, -0.0f); }));
  const std::string rule =
      "bias is not 0: only those of q_proj, k_proj and v_proj can be kept (ML_E_UNSUPPORTED, tensor ";
  CHECK(defect(open_changed([](TinyCheckpoint& c) { add_biases(c, 1e-45f); })) ==
        rule + "model.layers.0.self_attn.o_proj.bias)");
  const auto mlp_bias = [](float value) {
    return open_changed([value](TinyCheckpoint& c) {
      c.config["mlp_bias"] = true;
      c.add("model.layers.1.mlp.down_proj.bias", {64}, value);
    });
  };
  CHECK(mlp_bias(0));
  CHECK(defect(mlp_bias(1)) == rule + "model.layers.1.mlp.down_proj.bias)");
  CHECK(defect(open_changed([](TinyCheckpoint& c) {
          add_biases(c, 0);
          c.config["attention_bias"] = false;
        })).find("holds 6 tensors (model.layers.0.self_attn.k_proj.bias") != std::string::npos);
  CHECK(defect(open_changed([](TinyCheckpoint& c) {
          c.config["attention_bias"] = true;
        })).find("implies 6 tensors") != std::string::npos);
}

TEST_CASE("the first Gemma scales its embedding and means the tanh form of GELU", "[convert]") {
  const auto gemma = [](TinyCheckpoint& checkpoint) {
    checkpoint.config["architectures"] = {"GemmaForCausalLM"};
    checkpoint.config["model_type"] = "gemma";
    checkpoint.config["head_dim"] = 16;
    checkpoint.tensors.erase("lm_head.weight");
  };
  for (const char* activation : {"", "gelu", "gelu_pytorch_tanh"}) {
    INFO(activation);
    const auto model = open_changed([&](TinyCheckpoint& checkpoint) {
      gemma(checkpoint);
      if (*activation != 0) checkpoint.config["hidden_act"] = activation;
    });
    REQUIRE(model);
    CHECK(model->desc().embed_scale == 8);
    CHECK(model->desc().activation == Activation::gelu_tanh);
    CHECK(model->desc().shared_classifier);
    CHECK_FALSE(model->desc().post_norms);
    float norm = 0;
    std::memcpy(&norm, model->find(Role::final_norm)->view.data.data(), 4);
    CHECK(norm == 1.5f);  // one is added to every norm
  }
  CHECK(defect(open_changed([&](TinyCheckpoint& checkpoint) {
          gemma(checkpoint);
          checkpoint.config["hidden_act"] = "relu";
        })) ==
        "hidden_act is \"relu\", must be gelu or gelu_pytorch_tanh for the gemma family (ML_E_UNSUPPORTED)");
}

TEST_CASE("key-value heads default to all heads", "[convert]") {
  for (const bool null : {false, true}) {
    const auto model = open_changed([null](TinyCheckpoint& c) {
      c.config.erase("num_key_value_heads");
      if (null) c.config["num_key_value_heads"] = nullptr;
      for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
        c.add(layer + "k_proj.weight", {64, 64});
        c.add(layer + "v_proj.weight", {64, 64});
      }
    });
    REQUIRE(model);
    CHECK(model->desc().n_kv_heads == 4);
  }
}

TEST_CASE("Mistral's window: a value, null, and the class's own where the key is missing", "[convert]") {
  const auto window = [](const std::function<void(json&)>& change) {
    return open_changed([&](TinyCheckpoint& c) {
      c.config["model_type"] = "mistral";
      c.config["architectures"] = {"MistralForCausalLM"};
      change(c.config);
    });
  };
  const auto value = window([](json& config) { config["sliding_window"] = 12; });
  REQUIRE(value);
  CHECK(value->desc().sliding_window == 12);
  CHECK(value->desc().layers[1].windowed);
  const auto null = window([](json& config) { config["sliding_window"] = nullptr; });
  REQUIRE(null);
  CHECK(null->desc().sliding_window == 0);
  CHECK_FALSE(null->desc().layers[1].windowed);
  const auto missing = window([](json&) {});
  REQUIRE(missing);
  CHECK(missing->desc().sliding_window == 4096);
  CHECK(defect(window([](json& config) { config["sliding_window"] = 0; })) ==
        "sliding_window is 0, must be an integer from 1 to 16777216 (ML_E_SHAPE)");
}

TEST_CASE("a config without model_type goes by its architecture", "[convert]") {
  CHECK(open_changed([](TinyCheckpoint& c) { c.config.erase("model_type"); }));
  CHECK(open_changed([](TinyCheckpoint& c) { c.config.erase("architectures"); }));
  CHECK(defect(open_changed([](TinyCheckpoint& c) {
          c.config.erase("model_type");
          c.config["architectures"] = {"GPT2LMHeadModel"};
        })) == "architectures is GPT2LMHeadModel, must be " + family_list() + " (ML_E_UNSUPPORTED)");
}
