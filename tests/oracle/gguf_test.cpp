// Every family as a GGUF file: the references' logits, and bit for bit those of the .mlb made from it.

#include "catch.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <ml/chat.hpp>
#include <ml/generation.hpp>
#include <ml/inspect.hpp>
#include <ml/tokenizer.hpp>

#include <filesystem>

using namespace ml;

namespace {

std::vector<std::string> oracle_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("oracle"))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string quantized_path(const std::string& name) {
  return gguf_path(name + (name.ends_with("-q4") ? "-q4_0.gguf" : "-q8_0.gguf"));
}

// As mlb-quant does it for a .gguf.
QuantizeOptions kept_options(const Model& model) {
  const auto kept = kept_storage(model);
  REQUIRE(kept);
  return {.type = kept->type, .scales = kept->scales, .q8_mask = kept->q8_mask, .keep = true};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Everything but which dimensions rotate together and values that only the checkpoint's rounding changes.
void check_same_meaning(const ModelDesc& a, const ModelDesc& b) {
  CHECK(a.dim == b.dim);
  CHECK(a.n_heads == b.n_heads);
  CHECK(a.n_kv_heads == b.n_kv_heads);
  CHECK(a.head_dim == b.head_dim);
  CHECK(a.hidden_dim == b.hidden_dim);
  CHECK(a.vocab == b.vocab);
  CHECK(a.max_seq == b.max_seq);
  CHECK(a.norm_eps == b.norm_eps);
  CHECK(a.shared_classifier == b.shared_classifier);
  CHECK(a.rope.type == b.rope.type);
  CHECK(a.rope.theta == b.rope.theta);
  CHECK(a.rope.factor == b.rope.factor);
  CHECK(a.rope.low_freq_factor == b.rope.low_freq_factor);
  CHECK(a.rope.high_freq_factor == b.rope.high_freq_factor);
  CHECK(a.rope.orig_max_seq == b.rope.orig_max_seq);
  CHECK(a.rope.attn_factor == b.rope.attn_factor);
  CHECK(a.rope.local_theta == b.rope.local_theta);
  CHECK(a.rope.rot_dim == b.rope.rot_dim);
  CHECK(a.sliding_window == b.sliding_window);
  CHECK(a.activation == b.activation);
  CHECK(a.qkv_bias == b.qkv_bias);
  CHECK(a.qk_norm == b.qk_norm);
  CHECK(a.post_norms == b.post_norms);
  CHECK(a.attn_gate == b.attn_gate);
  CHECK(a.embed_scale == b.embed_scale);
  CHECK(a.attn_scale == b.attn_scale);
  CHECK(a.attn_softcap == b.attn_softcap);
  CHECK(a.final_softcap == b.final_softcap);
  CHECK(a.linear.v_heads == b.linear.v_heads);
  CHECK(a.linear.v_dim == b.linear.v_dim);
  REQUIRE(a.n_layers() == b.n_layers());
  for (std::uint32_t i = 0; i < a.n_layers(); ++i) {
    CHECK(a.layers[i].kind == b.layers[i].kind);
    CHECK(a.layers[i].windowed == b.layers[i].windowed);
    CHECK(a.layers[i].local_rope == b.layers[i].local_rope);
    CHECK(a.layers[i].no_rope == b.layers[i].no_rope);
  }
}

}  // namespace

TEST_CASE("every family's GGUF file means what its checkpoint does and gives the reference's logits",
          "[oracle]") {
  const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
  for (const std::string& name : oracle_names()) {
    const Golden golden(data_path("oracle/" + name));
    const Model checkpoint = open_model(data_path("oracle/" + name));
    for (const std::string& path : {quantized_path(name), gguf_path(name + "-f16.gguf")}) {
      INFO(path);
      const Model model = open_model(path);
      CHECK(model.desc().rope.layout == RopeLayout::interleaved);
      check_same_meaning(model.desc(), checkpoint.desc());
      CHECK(relative_error(logits_of(model, golden.tokens, options), golden.logits) < 1e-4);
    }
  }
}

TEST_CASE("a GGUF file runs to the bits of the .mlb made from it without a change", "[oracle]") {
  std::vector<std::string> paths;
  for (const std::string& name : oracle_names()) paths.push_back(quantized_path(name));
  for (const char* name : {"qwen3-stories-q4_0.gguf", "qwen35-stories-q8_0.gguf"})
    paths.push_back(gguf_path(name));
  for (const std::string& path : paths) {
    INFO(path);
    const Model model = open_model(path);
    const TempFolder folder;
    // Those who hold a linear layer's output as floats, or none of the blocks' width, are not all quantized.
    QuantizeOptions options = kept_options(model);
    options.type = model.find(Role::w1, 0)->view.encoding;
    const QuantizeReport report = quantize_to(folder.file("model.mlb"), model, options);
    for (const QuantizedTensor& tensor : report.tensors) {
      INFO(tensor.name);
      const Tensor* source = model.find(tensor.array.role, tensor.array.layer);
      REQUIRE(source != nullptr);
      if (encoding_info(source->view.encoding).quantized) {
        CHECK(tensor.copied);
        CHECK(tensor.rms_error == 0);
      }
    }
    const Model mlb = open_model(folder.file("model.mlb"));
    std::vector<std::uint32_t> tokens(40);
    for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = (i * 7 + 3) % model.desc().vocab;
    bool all_kept = true;
    for (const Tensor& tensor : model.tensors()) {
      all_kept = all_kept && (!is_matrix(tensor.role) || encoding_info(tensor.view.encoding).quantized);
    }
    const auto compare = [&](const SessionOptions& session) {
      const auto a = logits_of(model, tokens, session);
      const auto b = logits_of(mlb, tokens, session);
      if (all_kept) {
        CHECK(same_bits(a, b));
      } else {
        CHECK(relative_error(a, b) < 1e-4);
      }
    };
    compare({.activations = Activations::f32, .kv = KvType::f32});
    if (all_kept) compare({});
    CHECK((all_kept || path.find("qwen35-hybrid") != std::string::npos));
  }
}

TEST_CASE("a GGUF model in splits is the same model", "[oracle]") {
  const Model whole = open_model(gguf_path("llama3-gqa-tied-q8_0.gguf"));
  const Model split = open_model(gguf_path("split-00001-of-00003.gguf"));
  const std::vector<std::uint32_t> tokens{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(same_bits(logits_of(whole, tokens, {}), logits_of(split, tokens, {})));
  const auto report = inspect(gguf_path("split-00001-of-00003.gguf"), {.check = true});
  REQUIRE(report);
  CHECK(report->files.size() == 3);
  CHECK(report->defects.empty());
  CHECK(report->arrays.size() == whole.tensors().size());
  CHECK(describe(Model::open(gguf_path("split-00002-of-00003.gguf")).error())
            .find("split 2 of 3: give the first one") != std::string::npos);
}

TEST_CASE("a trained GGUF model writes its checkpoint's text with its own tokenizer", "[oracle]") {
  const std::string path = gguf_path("stories260K-f32.gguf");
  CHECK(has_own_tokenizer(path));
  CHECK_FALSE(has_own_tokenizer(gguf_path("llama2-mha-q8_0.gguf")));
  const auto own = Tokenizer::open(path);
  const auto json = Tokenizer::open(data_path("models/stories260K"));
  REQUIRE(own);
  REQUIRE(json);
  for (const char* text : {"Once upon a time, there was a little girl", "", "  two  spaces",
                           "h\xC3\xA9llo \xF0\x9F\x8C\x8D\n"}) {
    CHECK(own->encode(text) == json->encode(text));
  }
  CHECK(own->bos() == json->bos());
  CHECK(own->eos() == json->eos());
  CHECK(*end_tokens(path) == std::vector<std::uint32_t>{2});

  const Model model = open_model(path);
  const Model checkpoint = open_model(data_path("models/stories260K"));
  const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
  const auto ids = own->encode("Once upon a time");
  CHECK(relative_error(logits_of(model, ids, options), logits_of(checkpoint, ids, options)) < 1e-5);
}
