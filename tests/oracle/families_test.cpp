// Every family against float32 references: the checkpoint folder in its own dtype, and the .mlb made from it,
// whose weights are exact by construction.

#include "catch.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/support.hpp"

#include <ml/mlb.hpp>

#include <bit>
#include <filesystem>

using namespace ml;

namespace {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("oracle"))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Encoding exact_encoding(const std::string& name) {
  return name.ends_with("-q4") ? Encoding::q4_0 : Encoding::q8_0;
}

// Prompt in one batch, then the greedy steps one by one: cache, state and prefill must all agree with the
// reference.
void check_against_golden(const Model& model, const Golden& golden) {
  const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
  CHECK(relative_error(logits_of(model, golden.tokens, options), golden.logits) < 1e-4);

  auto session = Session::create(model, options);
  REQUIRE(session);
  auto row = session->eval(golden.tokens);
  REQUIRE(row);
  std::vector<float> steps;
  for (const std::uint32_t expected : golden.greedy) {
    steps.insert(steps.end(), row->begin(), row->end());
    CHECK(argmax(*row) == expected);
    row = session->eval({&expected, 1});
    REQUIRE(row);
  }
  CHECK(relative_error(steps, golden.greedy_logits) < 1e-4);
}

// A header with its equal spellings made one.
MlbHeader spelled_out(MlbHeader header) {
  if (header.head_dim == 0) header.head_dim = header.dim / header.n_heads;
  if (header.rot_dim == 0) header.rot_dim = header.head_dim;
  if (header.attn_scale == 0) header.attn_scale = 1.0f / std::sqrt(static_cast<float>(header.head_dim));
  return header;
}

void check_header(const MlbHeader& written, const nlohmann::json& golden) {
  MlbHeader expected = written;
  for (const auto& [key, value] : golden.at("header").items()) {
    const MlbField* field = find_mlb_field(key);
    REQUIRE(field != nullptr);
    const std::uint32_t word = field->type == MlbType::f32 ? std::bit_cast<std::uint32_t>(value.get<float>())
                                                           : value.get<std::uint32_t>();
    std::memcpy(reinterpret_cast<char*>(&expected) + field->offset, &word, sizeof word);
  }
  const MlbHeader a = spelled_out(written);
  const MlbHeader b = spelled_out(expected);
  for (const MlbField& field : mlb_fields()) {
    // wtype, q8_mask and scale_f16 follow from how it was written here.
    if (field.name == "wtype" || field.name == "scale_f16" || field.name == "magic") continue;
    INFO(field.name);
    CHECK(mlb_field_word(a, field) == mlb_field_word(b, field));
  }
}

// "Q8 weights + Q8 activations" of the models' table: the rms error that a simulation of the format's rule
// has.
double simulated_rms(const std::string& name) {
  const std::pair<const char*, double> rows[] = {{"gemma2", 0.065},
                                                 {"gemma3-text", 0.082},
                                                 {"llama-linear-rope", 0.048},
                                                 {"llama2-mha", 0.050},
                                                 {"llama3-gqa-q4", 0.058},
                                                 {"llama3-gqa-tied", 0.033},
                                                 {"llama31-rope-llama3", 0.076},
                                                 {"mistral-sliding", 0.051},
                                                 {"phi3-fused", 0.058},
                                                 {"qwen2-bias-tied", 0.019},
                                                 {"qwen2-yarn", 0.040},
                                                 {"qwen3-headdim", 0.024},
                                                 {"qwen35-hybrid", 0.105},
                                                 {"smollm3-nope", 0.026}};
  for (const auto& [row, rms] : rows) {
    if (row == name) return rms;
  }
  FAIL("no row for " << name);
  return 0;
}

}  // namespace

TEST_CASE("every family's checkpoint gives the reference's logits and greedy tokens", "[oracle]") {
  const auto names = model_names();
  REQUIRE(names.size() >= 14);
  for (const std::string& name : names) {
    INFO(name);
    check_against_golden(open_model(data_path("oracle/" + name)), Golden(data_path("oracle/" + name)));
  }
}

TEST_CASE("every family's .mlb has the expected header and gives the reference's logits", "[oracle]") {
  for (const std::string& name : model_names()) {
    const std::string source_path = data_path("oracle/" + name);
    const Model source = open_model(source_path);
    const Golden golden(source_path);
    const auto golden_header = nlohmann::json::parse(read_file(source_path + "/golden.header.json"));
    for (const ScaleType scales : {ScaleType::f32, ScaleType::f16}) {
      INFO(name << " " << scale_type_name(scales));
      const TempFolder folder;
      const std::string path = folder.file("model.mlb");
      check_header(quantize_to(path, source, {.type = exact_encoding(name), .scales = scales}).header,
                   golden_header);
      const Model model = open_model(path);
      check_against_golden(model, golden);

      const auto flags = golden_header.value("layer_flags", std::vector<int>());
      for (std::size_t i = 0; i < flags.size(); ++i) {
        const LayerDesc& layer = model.desc().layers[i];
        CHECK((layer.windowed | layer.local_rope << 1 | layer.no_rope << 2 |
               (layer.kind == LayerKind::gated_delta) << 3) == flags[i]);
      }
      const auto q8 = logits_of(model, golden.tokens, {});
      double squares = 0;
      for (std::size_t i = 0; i < q8.size(); ++i)
        squares += (double(q8[i]) - golden.logits[i]) * (double(q8[i]) - golden.logits[i]);
      REQUIRE(q8.size() == golden.logits.size());
      CHECK(std::sqrt(squares / static_cast<double>(q8.size())) < 2 * simulated_rms(name));
    }
  }
}

TEST_CASE("trained models write the reference's texts", "[oracle]") {
  for (const std::string name : {"qwen3-stories", "qwen35-stories"}) {
    INFO(name);
    const std::string folder = data_path("models/" + name);
    const Model model = open_model(folder);
    const auto golden = nlohmann::json::parse(read_file(folder + "/" + name + ".golden.json"));
    const SessionOptions options{.activations = Activations::f32, .kv = KvType::f32};
    const auto prompt = golden.at("logits_prompt_ids").get<std::vector<std::uint32_t>>();
    CHECK(relative_error(logits_of(model, prompt, options),
                         read_floats(folder + "/" + name + ".logits.f32")) < 1e-4);

    const auto expected = golden.at("greedy_120_ids").get<std::vector<std::uint32_t>>();
    auto session = Session::create(model, options);
    REQUIRE(session);
    auto row = session->eval(golden.at("prompt_ids").get<std::vector<std::uint32_t>>());
    std::vector<std::uint32_t> ids;
    while (ids.size() < expected.size()) {
      REQUIRE(row);
      ids.push_back(argmax(*row));
      row = session->eval({&ids.back(), 1});
    }
    CHECK(ids == expected);
  }
}
