#include "folder.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "formats/folder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

using namespace ml;
using nlohmann::json;

namespace {

// What opening a changed checkpoint says, the folder's name taken out; "" when it opens.
std::string outcome(const std::function<void(TinyCheckpoint&)>& change) {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  change(checkpoint);
  checkpoint.write(folder);
  const auto model = open_folder(folder.path(), {});
  if (model) return "";
  std::string text = describe(model.error());
  for (auto at = text.find(folder.path()); at != text.npos; at = text.find(folder.path()))
    text.replace(at, folder.path().size(), "DIR");
  return text;
}

std::string with_config(const std::string& key, const json& value) {
  return outcome([&](TinyCheckpoint& checkpoint) { checkpoint.config[key] = value; });
}

}  // namespace

TEST_CASE("a checkpoint folder opens", "[formats]") {
  CHECK(outcome([](TinyCheckpoint&) {}) == "");
  CHECK(with_config("head_dim", nullptr) == "");
  CHECK(with_config("rope_scaling", nullptr) == "");
  CHECK(with_config("hidden_act", "swish") == "");
  CHECK(with_config("partial_rotary_factor", 1) == "");
  CHECK(with_config("rms_norm_eps", 1e-40) == "");  // float32 has it, though not as a normal number
}

TEST_CASE("every unusable config value is named with key, value and rule", "[convert]") {
  const std::string at = "DIR/config.json: ";
  const std::pair<std::pair<std::string, json>, std::string> table[] = {
      {{"model_type", "mamba"}, "model_type is \"mamba\", must be " + family_list() + " (ML_E_UNSUPPORTED)"},
      {{"model_type", 7}, "model_type is 7, must be a string (ML_E_FORMAT)"},
      {{"architectures", {"LlamaForSequenceClassification"}},
       "architectures is LlamaForSequenceClassification, model_type llama needs LlamaForCausalLM "
       "(ML_E_UNSUPPORTED)"},
      {{"architectures", "LlamaForCausalLM"},
       "architectures is \"LlamaForCausalLM\", must be a list of strings (ML_E_FORMAT)"},
      {{"hidden_size", nullptr}, "hidden_size is missing, must be an integer from 1 to 65536 (ML_E_FORMAT)"},
      {{"hidden_size", 64.0}, "hidden_size is 64.0, must be an integer from 1 to 65536 (ML_E_FORMAT)"},
      {{"hidden_size", "64"}, "hidden_size is \"64\", must be an integer from 1 to 65536 (ML_E_FORMAT)"},
      {{"hidden_size", 0}, "hidden_size is 0, must be an integer from 1 to 65536 (ML_E_SHAPE)"},
      {{"hidden_size", -64}, "hidden_size is -64, must be an integer from 1 to 65536 (ML_E_SHAPE)"},
      {{"hidden_size", 4294967360u},
       "hidden_size is 4294967360, must be an integer from 1 to 65536 (ML_E_SHAPE)"},
      {{"hidden_size", 62}, "num_attention_heads is 4, must be a divisor of hidden_size, 62 (ML_E_SHAPE)"},
      {{"num_hidden_layers", 65537},
       "num_hidden_layers is 65537, must be an integer from 1 to 65536 (ML_E_SHAPE)"},
      {{"num_attention_heads", true},
       "num_attention_heads is true, must be an integer from 1 to 65536 (ML_E_FORMAT)"},
      {{"num_key_value_heads", 3},
       "num_key_value_heads is 3, must be a divisor of num_attention_heads, 4 (ML_E_SHAPE)"},
      {{"head_dim", 15}, "head_dim is 15, must be even (ML_E_SHAPE)"},
      {{"head_dim", 20000}, "num_attention_heads 4 x head_dim 20000 is over 65536 (ML_E_SHAPE)"},
      {{"vocab_size", 2}, "vocab_size is 2, must be an integer from 3 to 16777216 (ML_E_SHAPE)"},
      {{"rms_norm_eps", -1},
       "rms_norm_eps is -1, must be a number of 0 or more within float32 (ML_E_FORMAT)"},
      {{"rms_norm_eps", "x"},
       "rms_norm_eps is \"x\", must be a number of 0 or more within float32 (ML_E_FORMAT)"},
      {{"rms_norm_eps", 1e-60},
       "rms_norm_eps is 1e-60, must be a number of 0 or more within float32 (ML_E_FORMAT)"},
      {{"partial_rotary_factor", 0.5},
       "partial_rotary_factor is 0.5, must be 1 for the llama family, whose heads rotate as a whole "
       "(ML_E_UNSUPPORTED)"},
      {{"partial_rotary_factor", 0},
       "partial_rotary_factor is 0, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.25}}},
       "rope_parameters.partial_rotary_factor is 0.25, must be 1 for the llama family, whose heads rotate as "
       "a "
       "whole (ML_E_UNSUPPORTED)"},
      {{"rope_theta", 0}, "rope_theta is 0, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"rope_theta", 1e39}, "rope_theta is 1e+39, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"rope_theta", 1e-60}, "rope_theta is 1e-60, must be a number above 0 within float32 (ML_E_FORMAT)"},
      {{"tie_word_embeddings", 1}, "tie_word_embeddings is 1, must be true or false (ML_E_FORMAT)"},
      {{"hidden_act", "gelu"},
       "hidden_act is \"gelu\", must be silu or swish for the llama family (ML_E_UNSUPPORTED)"},
      {{"quantization_config", {{"quant_method", "gptq"}}},
       "quantization_config.quant_method is \"gptq\", must be absent: only plain checkpoints (BF16, F16, "
       "F32) can be read "
       "(ML_E_UNSUPPORTED)"},
      {{"text_config", 1}, "text_config is 1, must be an object (ML_E_FORMAT)"},
  };
  for (const auto& [change, message] : table) {
    INFO(message);
    CHECK(with_config(change.first, change.second) == at + message);
  }
}

TEST_CASE("a config.json that is no JSON object is refused", "[convert]") {
  const std::pair<std::string, std::string> table[] = {
      {"", "not JSON: unexpected end of input (ML_E_FORMAT, offset 0)"},
      {"{\"hidden_size\": NaN}", "not JSON: invalid literal (ML_E_FORMAT, offset 16)"},
      {"{\"rope_theta\": 1e999}", "not JSON: number overflow parsing '1e999' (ML_E_FORMAT)"},
      {"{\"a\": 1,}", "not JSON: unexpected '}' (ML_E_FORMAT, offset 8)"},
      {"[]", "is a list, must be an object (ML_E_FORMAT, offset 0)"},
      {"{\"vocab_size\": 1, \"vocab_size\": 2}", "JSON key \"vocab_size\" is there twice (ML_E_FORMAT)"},
      {"{}", "model_type is missing, must be " + family_list() + " (ML_E_FORMAT)"},
  };
  for (const auto& [text, message] : table) {
    const TempFolder folder;
    TinyCheckpoint().write(folder);
    folder.write("config.json", text);
    const auto model = open_folder(folder.path(), {});
    REQUIRE_FALSE(model);
    CHECK(describe(model.error()) == folder.file("config.json") + ": " + message);
  }
}

TEST_CASE("text_config is merged under the top level", "[convert]") {
  const auto model_of = [](TinyCheckpoint& checkpoint) {
    const TempFolder folder;
    checkpoint.write(folder);
    return open_folder(folder.path(), {});
  };
  TinyCheckpoint checkpoint;
  json text = checkpoint.config;
  text["vocab_size"] = 41;      // the top level wins
  text["rms_norm_eps"] = 0.25;  // the top level lacks it
  checkpoint.config["text_config"] = text;
  checkpoint.config.erase("rms_norm_eps");
  checkpoint.config["hidden_size"] = nullptr;  // null counts as missing
  const auto model = model_of(checkpoint);
  REQUIRE(model);
  CHECK(model->desc().vocab == 40);
  CHECK(model->desc().dim == 64);
  CHECK(model->desc().norm_eps == 0.25f);
  CHECK(outcome([](TinyCheckpoint& c) {
          c.config["text_config"] = {{"rms_norm_eps", -2}}, c.config.erase("rms_norm_eps");
        }) ==
        "DIR/config.json: text_config.rms_norm_eps is -2, must be a number of 0 or more within float32 "
        "(ML_E_FORMAT)");
}

TEST_CASE("tensors that do not fit the config are named", "[convert]") {
  const std::string q = "model.layers.1.self_attn.q_proj.weight";
  const auto change = [](const auto& what) { return outcome(what); };
  CHECK(change([&](TinyCheckpoint& c) { c.tensors.erase(q); }) ==
        "DIR: the config implies 1 tensor (" + q + ") that the checkpoint lacks (ML_E_FORMAT)");
  CHECK(change([](TinyCheckpoint& c) { c.config["num_hidden_layers"] = 3; }) ==
        "DIR: the config implies 9 tensors (model.layers.2.input_layernorm.weight, "
        "model.layers.2.self_attn.q_proj.weight, "
        "model.layers.2.self_attn.k_proj.weight, model.layers.2.self_attn.v_proj.weight, "
        "model.layers.2.self_attn.o_proj.weight and 4 more) that the checkpoint lacks (ML_E_FORMAT)");
  CHECK(change([](TinyCheckpoint& c) { c.config["num_hidden_layers"] = 65536; }).find("and 589801 more)") !=
        std::string::npos);
  CHECK(change([](TinyCheckpoint& c) { c.tensors.erase("lm_head.weight"); }) ==
        "DIR: the config implies 1 tensor (lm_head.weight) that the checkpoint lacks; without lm_head.weight "
        "the config must "
        "say tie_word_embeddings: true (ML_E_FORMAT)");
  CHECK(change([&](TinyCheckpoint& c) {
          c.tensors[q].shape = {64, 32};
        }) == "DIR/model.safetensors: shape is [64, 32], the config implies [64, 64] (ML_E_SHAPE, tensor " +
                  q + ")");
  CHECK(change([&](TinyCheckpoint& c) { c.tensors[q].shape = {4096}; }) ==
        "DIR/model.safetensors: shape is [4096], the config implies [64, 64] (ML_E_SHAPE, tensor " + q + ")");
  CHECK(change([&](TinyCheckpoint& c) { c.tensors[q].dtype = "F64"; }) ==
        "DIR/model.safetensors: dtype is F64, weights must be F32, F16 or BF16 (ML_E_UNSUPPORTED, tensor " +
            q + ")");
  CHECK(change([](TinyCheckpoint& c) { c.add("model.layers.0.mlp.router.weight", {4}); }) ==
        "DIR: the checkpoint holds 1 tensor (model.layers.0.mlp.router.weight) that a model of the llama "
        "family with this "
        "config has not (ML_E_FORMAT)");
  CHECK(change([](TinyCheckpoint& c) {
          c.add("other.embed_tokens.weight", {40, 64});
        }) ==
        "DIR: 2 tensors (model.embed_tokens.weight, other.embed_tokens.weight) end in embed_tokens.weight, "
        "must be one "
        "(ML_E_FORMAT)");
  CHECK(change([](TinyCheckpoint& c) { c.tensors.erase("model.embed_tokens.weight"); }) ==
        "DIR: no tensor's name ends in embed_tokens.weight (ML_E_FORMAT)");
}

TEST_CASE("tensors that no layer uses stop nothing", "[convert]") {
  TinyCheckpoint plain;
  plain.config["architectures"] = {"Qwen3_5ForCausalLM"};
  plain.config["model_type"] = "qwen3_5_text";
  plain.config["head_dim"] = 16;
  plain.config["layer_types"] = {"full_attention", "full_attention"};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    plain.add(layer + "self_attn.q_proj.weight", {128, 64});  // queries and gates
    plain.add(layer + "self_attn.q_norm.weight", {16});
    plain.add(layer + "self_attn.k_norm.weight", {16});
  }
  const auto model_of = [](const TinyCheckpoint& checkpoint) {
    const TempFolder folder;
    checkpoint.write(folder);
    return open_folder(folder.path(), {});
  };
  TinyCheckpoint more = plain;
  // A layer that predicts further tokens, eyes, and what types and shapes they have: none of it is read.
  more.add("mtp.fc.weight", {64, 128});
  more.add("mtp.norm.weight", {64});
  more.add("mtp.layers.0.self_attn.q_proj.weight", {3, 5});
  more.add("mtp.layers.0.mlp.experts.gate_up_proj", {2, 8, 64}, 0.5f, "F64");
  more.add("model.visual.patch_embed.proj.weight", {4, 3, 2, 2, 2});
  more.add("model.visual.blocks.0.attn.qkv.bias", {192}, 0.5f, "I32");
  more.add("visual.merger.norm.weight", {64}, std::nanf(""));
  const auto with = model_of(more);
  if (!with) FAIL(describe(with.error()));
  const auto without = model_of(plain);
  REQUIRE(without);
  REQUIRE(with->tensors().size() == without->tensors().size());
  for (std::size_t i = 0; i < with->tensors().size(); ++i) {
    CHECK(with->tensors()[i].name == without->tensors()[i].name);
    CHECK(as_text(with->tensors()[i].view.data) == as_text(without->tensors()[i].view.data));
  }
  more.add("mtpx.fc.weight", {64});  // no part of it
  const auto refused = model_of(more);
  REQUIRE_FALSE(refused);
  CHECK(
      refused.error().message.starts_with("the checkpoint holds 1 tensor (mtpx.fc.weight) that a model of"));
}

TEST_CASE("shards must agree with their index", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  const auto in_first = [](const std::string& name) { return name.find("layers.0") != std::string::npos; };
  const auto in_second = [&](const std::string& name) { return !in_first(name); };
  folder.write("config.json", checkpoint.config.dump());
  folder.write("a.safetensors", checkpoint.safetensors(in_first));
  folder.write("b.safetensors", checkpoint.safetensors(in_second));
  json index;
  for (const auto& [name, entry] : checkpoint.tensors)
    index["weight_map"][name] = in_first(name) ? "a.safetensors" : "b.safetensors";
  const auto open_with = [&](const json& changed) {
    folder.write("model.safetensors.index.json", changed.dump());
    const auto model = open_folder(folder.path(), {});
    return model ? "" : describe(model.error());
  };
  const auto with = [&](const std::string& tensor, const json& shard) {
    json changed = index;
    changed["weight_map"][tensor] = shard;
    return changed;
  };
  const std::string index_path = folder.file("model.safetensors.index.json");
  CHECK(open_with(index) == "");
  CHECK(open_with(json::array()) == index_path + ": weight_map is missing (ML_E_FORMAT)");
  CHECK(open_with({{"weight_map", json::object()}}) ==
        index_path + ": weight_map must be an object that names a file for each tensor (ML_E_FORMAT)");
  CHECK(open_with(with("lm_head.weight", 5)) ==
        index_path + ": weight_map gives 5, must give a file name (ML_E_FORMAT, tensor lm_head.weight)");
  for (const std::string bad :
       {"../b.safetensors", "/etc/passwd", "..", ".", "", "sub/b.safetensors", "sub\\b.safetensors"}) {
    INFO(bad);
    CHECK(open_with(with("lm_head.weight", bad))
              .find("must be the name of a file in the model's folder (ML_E_FORMAT") != std::string::npos);
  }
  CHECK(open_with(with("lm_head.weight", std::string("b.safetensors\0x", 15)))
            .find("must be the name of a file") != std::string::npos);
  CHECK(open_with(with("lm_head.weight", "c.safetensors")) ==
        folder.file("c.safetensors") + ": cannot open: No such file or directory (ML_E_IO)");
  CHECK(open_with(with("lm_head.weight", "a.safetensors")) ==
        folder.file("a.safetensors") +
            ": the index names 1 tensor (lm_head.weight) that the shard lacks (ML_E_FORMAT)");
  CHECK(open_with(with("no.such.weight", "b.safetensors")) ==
        folder.file("b.safetensors") +
            ": the index names 1 tensor (no.such.weight) that the shard lacks (ML_E_FORMAT)");

  json both = with("no.such.weight", "b.safetensors");
  both["weight_map"]["another"] = "a.safetensors";
  CHECK(open_with(both) == folder.file("a.safetensors") +
                               ": the index names 1 tensor (another) that the shard lacks (ML_E_FORMAT)");

  folder.write("a.safetensors", checkpoint.safetensors([&](const std::string& name) {
    return in_first(name) || name == "lm_head.weight";
  }));
  CHECK(open_with(index) == folder.file("b.safetensors") + ": tensor is also in " +
                                folder.file("a.safetensors") + " (ML_E_FORMAT, tensor lm_head.weight)");
}

TEST_CASE("without an index there must be one safetensors file", "[formats]") {
  const TempFolder folder;
  const TinyCheckpoint checkpoint;
  const auto open_it = [&] {
    const auto model = open_folder(folder.path(), {});
    return model ? "" : describe(model.error());
  };
  CHECK(open_it() == folder.file("config.json") + ": cannot open: No such file or directory (ML_E_IO)");
  folder.write("config.json", checkpoint.config.dump());
  CHECK(open_it() == folder.path() + ": folder has no .safetensors file (ML_E_FORMAT)");
  folder.write("weights.safetensors", checkpoint.safetensors());
  CHECK(open_it() == "");
  folder.write("weights2.safetensors", checkpoint.safetensors());
  CHECK(open_it() == folder.path() + ": folder has 2 .safetensors files (" +
                         folder.file("weights.safetensors") + ", " + folder.file("weights2.safetensors") +
                         ") but no model.safetensors.index.json (ML_E_FORMAT)");
  folder.write("model.safetensors", checkpoint.safetensors());
  CHECK(open_it() == "");
  folder.write("model.safetensors", "");
  CHECK(open_it() == folder.file("model.safetensors") + ": file is empty (ML_E_FORMAT, offset 0)");
}

TEST_CASE("without an index every model*.safetensors is read", "[formats]") {
  const TempFolder folder;
  const TinyCheckpoint checkpoint;
  const auto open_it = [&] {
    const auto model = open_folder(folder.path(), {});
    return model ? "" : describe(model.error());
  };
  const auto first = [](const std::string& name) { return name < "model.layers.1"; };
  const auto rest = [&](const std::string& name) { return !first(name); };
  const auto nothing_of = [&](const char* missing, const char* counts) {
    return fmt::format(
        "{}: {} is missing: the folder has {} files of that kind and no "
        "model.safetensors.index.json (ML_E_FORMAT)",
        folder.path(), missing, counts);
  };
  folder.write("config.json", checkpoint.config.dump());
  folder.write("adapter.safetensors", "no model, not read");
  folder.write("model.safetensors", checkpoint.safetensors(first));
  CHECK(open_it().find("that the checkpoint lacks") != std::string::npos);
  folder.write("model-rest.safetensors", checkpoint.safetensors(rest));
  CHECK(open_it() == "");
  folder.write("model-rest.safetensors", checkpoint.safetensors());
  CHECK(open_it().find("model.safetensors: tensor is also in " + folder.file("model-rest.safetensors")) !=
        std::string::npos);
  folder.remove("model-rest.safetensors");
  folder.write("model_2.safetensors", checkpoint.safetensors(rest));
  CHECK(open_it() == "");

  // Of a numbered set all files must be there, also beside others.
  folder.write("model-00002-of-00003.safetensors", "not read");
  CHECK(open_it() == nothing_of("model-00001-of-00003.safetensors", "1 of 3"));
  folder.remove("model.safetensors");
  folder.remove("model_2.safetensors");
  CHECK(open_it() == nothing_of("model-00001-of-00003.safetensors", "1 of 3"));
  folder.write("model-00001-of-00003.safetensors", checkpoint.safetensors(first));
  CHECK(open_it() == nothing_of("model-00003-of-00003.safetensors", "2 of 3"));
  folder.write("model-00003-of-00003.safetensors", checkpoint.safetensors([](const auto&) { return false; }));
  folder.write("model-00002-of-00003.safetensors", checkpoint.safetensors(rest));
  CHECK(open_it() == "");
  folder.write("model-99999-of-99999.safetensors", "");
  CHECK(open_it() == nothing_of("model-00001-of-99999.safetensors", "1 of 99999"));
}

TEST_CASE("no changed byte of config.json or of the index does more than one clear error", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 32}};
  checkpoint.config["text_config"] = {{"rope_theta", 10000.0}};
  checkpoint.write(folder);
  json index;
  for (const auto& [name, entry] : checkpoint.tensors) index["weight_map"][name] = "model.safetensors";
  folder.write("model.safetensors.index.json", index.dump());
  REQUIRE(open_folder(folder.path(), {}));

  const auto try_bytes = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
    const auto model = open_folder(folder.path(), {});
    if (!model) CHECK_FALSE(model.error().message.empty());
  };
  for (const auto& [name, step] :
       {std::pair<std::string, std::size_t>{"config.json", 1}, {"model.safetensors.index.json", 13}}) {
    const std::string good = read_file(folder.file(name));
    for (std::size_t at = 0; at < good.size(); at += step) {
      try_bytes(name, good.substr(0, at));
      for (const char byte : {'\0', '\xff', '"', '9', '-', '}'}) {
        std::string bad = good;
        bad[at] = byte;
        try_bytes(name, bad);
      }
    }
    folder.write(name, good);
  }
}
