// Conversion of whole models: what is exact, what is refused, what is reported.

#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <ml/latent.hpp>
#include <ml/seed_pack.hpp>

#include <functional>

using namespace ml;

namespace {

std::vector<std::uint32_t> some_tokens(std::size_t n, std::uint32_t vocab) {
  std::vector<std::uint32_t> tokens(n);
  for (std::size_t i = 0; i < n; ++i)
    tokens[i] = static_cast<std::uint32_t>((i * i * 17 + 5 * i + 3) % vocab);
  return tokens;
}

LatentConversion converted(const Model& model, std::vector<std::uint32_t> ranks, unsigned threads = 2) {
  auto conversion = convert_to_latent(
      model, {.ranks = std::move(ranks), .tokens = some_tokens(80, model.desc().vocab), .threads = threads});
  if (!conversion) FAIL(describe(conversion.error()));
  return *std::move(conversion);
}

void pack(const std::string& from, const std::string& to, const LatentConversion& conversion) {
  const auto report = pack_model(from, to, {.encoding = Encoding::bf16, .latent = &conversion, .threads = 2});
  if (!report) FAIL(describe(report.error()));
}

std::string refusal(const std::function<void(TinyCheckpoint&)>& change,
                    std::vector<std::uint32_t> ranks = {64}) {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.config["head_dim"] = 128;
  for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
    checkpoint.add(layer + "q_proj.weight", {512, 64});
    checkpoint.add(layer + "k_proj.weight", {256, 64});
    checkpoint.add(layer + "v_proj.weight", {256, 64});
    checkpoint.add(layer + "o_proj.weight", {64, 512});
  }
  change(checkpoint);
  checkpoint.write(folder);
  const auto plan = plan_latent(open_model(folder.path()), ranks);
  return plan ? "" : plan.error().message;
}

}  // namespace

TEST_CASE("a model with one key-value head converts to the reference's tensors and keeps its logits",
          "[latent]") {
  const std::string source = data_path("mova/llama-gqa1");
  const Model model = open_model(source);
  const LatentConversion conversion = converted(model, {128});
  const TempFolder folder;
  pack(source, folder.file("out"), conversion);
  const Model made = open_model(folder.file("out"));
  const Model expected = open_model(data_path("mova/llama-gqa1-conv"));
  REQUIRE(made.tensors().size() == expected.tensors().size());
  for (const Tensor& tensor : expected.tensors()) {
    INFO(tensor.name);
    const Tensor* other = made.find(tensor.role, tensor.layer);
    REQUIRE(other != nullptr);
    CHECK(other->name == tensor.name);
    CHECK(other->view.encoding == tensor.view.encoding);
    CHECK(std::equal(tensor.view.data.begin(), tensor.view.data.end(), other->view.data.begin(),
                     other->view.data.end()));
  }
  const auto tokens = some_tokens(32, model.desc().vocab);
  const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
  const auto before = logits_of(model, tokens, options);
  const auto after = logits_of(made, tokens, options);
  double worst = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    worst = std::max(worst, std::fabs(double(before[i]) - double(after[i])));
  CHECK(worst < 1e-4);
  CHECK(conversion.report.kl < 1e-9);
  CHECK(conversion.report.perplexity == Approx(conversion.report.base_perplexity));
  for (const LatentLayerReport& layer : conversion.report.layers) {
    CHECK(layer.rotation_lost == 0);
    CHECK(layer.latent_lost == 0);
    CHECK(layer.kl < 1e-9);
  }
  const auto config = nlohmann::json::parse(read_file(folder.file("out/config.json")));
  CHECK(config["mla_ranks"] == nlohmann::json({128, 128}));
  CHECK(config["mla_rope_dim"] == 128);
}

TEST_CASE("layers of rank 0 stay, and lower ranks lose more", "[latent]") {
  const std::string source = data_path("mova/llama-gqa1");
  const Model model = open_model(source);
  const LatentConversion half = converted(model, {0, 64});
  REQUIRE(half.report.layers.size() == 1);
  CHECK(half.report.layers[0].layer == 1);
  CHECK(half.report.layers[0].latent_lost > 0);
  CHECK(half.report.kl == Approx(half.report.layers[0].kl));
  const LatentConversion less = converted(model, {0, 32});
  CHECK(less.report.layers[0].latent_lost > half.report.layers[0].latent_lost);
  CHECK(less.report.kl > half.report.kl);
  const TempFolder folder;
  pack(source, folder.file("out"), half);
  const Model made = open_model(folder.file("out"));
  CHECK(made.desc().layers[0].kind == LayerKind::attention);
  CHECK(made.desc().layers[1].rank == 64);
}

TEST_CASE("a conversion has the same bits with any number of threads", "[latent]") {
  const Model model = open_model(data_path("mova/llama-gqa1"));
  const LatentConversion one = converted(model, {64}, 1);
  const LatentConversion three = converted(model, {64}, 3);
  for (std::size_t i = 0; i < one.tensors.size(); ++i) CHECK(one.tensors[i].bf16 == three.tensors[i].bf16);
  CHECK(one.report.kl == three.report.kl);
}

TEST_CASE("what has no latent form is refused", "[latent]") {
  CHECK(refusal([](TinyCheckpoint&) {}) == "");
  CHECK(refusal([](TinyCheckpoint&) {}, {48}) == "rank is 48, must be a multiple of 32 up to 1024");
  CHECK(refusal([](TinyCheckpoint&) {}, {2048}) == "rank is 2048, must be a multiple of 32 up to 1024");
  CHECK(refusal([](TinyCheckpoint&) {}, {32, 32, 32}) ==
        "3 ranks, must be one, or one for each of the 2 layers");
  CHECK(refusal([](TinyCheckpoint&) {}, {0, 0}) == "every rank is 0: nothing is to be converted");
  CHECK(refusal([](TinyCheckpoint& c) {
          c.config["attention_bias"] = true;
          for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
            c.add(layer + "q_proj.bias", {512});
            c.add(layer + "k_proj.bias", {256});
            c.add(layer + "v_proj.bias", {256});
          }
        }) == "no latent form: keys and values have biases");
  for (const auto& [name, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"oracle/qwen3-headdim", "no latent form: heads have"},
           {"oracle/llama2-mha", "no latent form: heads have"},
           {"mova/llama-mla", "no latent form: the model has latent attention already (mla_ranks)"}}) {
    const auto plan = plan_latent(open_model(data_path(name)), std::vector<std::uint32_t>{64});
    REQUIRE(!plan);
    CHECK(plan.error().message.starts_with(message));
  }
  const Model model = open_model(data_path("mova/llama-gqa1"));
  CHECK(convert_to_latent(model, {.ranks = {64}, .tokens = {1}}).error().message ==
        "1 token to calibrate with, must be 2 at least");
  CHECK(convert_to_latent(model, {.ranks = {64}, .tokens = {1, 320}}).error().message ==
        "token to calibrate with is 320, must be below the vocabulary of 320");
  const LatentConversion conversion = *plan_latent(model, std::vector<std::uint32_t>{64});
  const TempFolder folder;
  const auto pack_error = [&](const std::string& source) {
    return pack_model(data_path(source), folder.file("out"), {.latent = &conversion}).error().message;
  };
  CHECK(pack_error("mova/llama-gqa1") == "is planned but not converted");
  CHECK(pack_error("oracle/phi3-fused") == "the conversion is of another model");
}

TEST_CASE("normalized keys have no latent form", "[latent]") {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.config["model_type"] = "qwen3";
  checkpoint.config["architectures"] = {"Qwen3ForCausalLM"};
  checkpoint.config["head_dim"] = 128;
  for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
    checkpoint.add(layer + "q_proj.weight", {512, 64});
    checkpoint.add(layer + "k_proj.weight", {256, 64});
    checkpoint.add(layer + "v_proj.weight", {256, 64});
    checkpoint.add(layer + "o_proj.weight", {64, 512});
    checkpoint.add(layer + "q_norm.weight", {128});
    checkpoint.add(layer + "k_norm.weight", {128});
  }
  checkpoint.write(folder);
  CHECK(plan_latent(open_model(folder.path()), std::vector<std::uint32_t>{64}).error().message ==
        "no latent form: keys are normalized (k_norm), which is not linear");
}
