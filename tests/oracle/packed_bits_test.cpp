// Models packed in every encoding of nanoseedlm(5): the same bits everywhere, experts included.

#include "catch.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/mova_support.hpp"

#include <ml/inspect.hpp>
#include <ml/seed_pack.hpp>

using namespace ml;

namespace {

void pack(const std::string& from, const std::string& to, SeedPackOptions options) {
  options.threads = 2;
  const auto report = pack_model(from, to, options);
  if (!report) FAIL(describe(report.error()));
}

std::string digest_of(const Model& model, const std::vector<std::uint32_t>& tokens,
                      const SessionOptions& options) {
  const std::vector<float> logits = logits_of(model, tokens, options);
  REQUIRE(logits.size() == tokens.size() * model.desc().vocab);
  REQUIRE(std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); }));
  Hasher hasher;
  hasher.update(LittleEndian(std::span(logits)).bytes());
  return hasher.hex();
}

// @return the logits' digest with float activations
std::string check_digests(const Model& model, const std::vector<std::uint32_t>& tokens) {
  std::string expected;
  for (const Activations activations : {Activations::q8, Activations::f32}) {
    SessionOptions options{.activations = activations, .threads = 1, .target = Target::scalar};
    expected = digest_of(model, tokens, options);
    for (const Target target : available_targets()) {
      options.target = target;
      for (const unsigned threads : {1u, 2u}) {
        options.threads = threads;
        for (const std::uint32_t batch : {1u, 5u, 512u}) {
          if (kSanitized && batch != 5) continue;
          options.batch = batch;
          INFO(target_name(target) << " threads " << threads << " batch " << batch);
          CHECK(digest_of(model, tokens, options) == expected);
        }
      }
    }
  }
  return expected;
}

std::vector<std::uint32_t> some_tokens(std::uint32_t vocab) {
  std::vector<std::uint32_t> tokens(40);
  for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = (i * i * 31 + 7 * i + 1) % vocab;
  return tokens;
}

}  // namespace

TEST_CASE("a model packed in any encoding has one digest on all targets and threads", "[seedlm]") {
  const TempFolder folder;
  const auto tokens = some_tokens(512);
  std::map<std::string, std::string> digests;
  for (const Encoding encoding : pack_encodings()) {
    const std::string name(encoding_info(encoding).name);
    INFO(name);
    pack(data_path("models/stories260K"), folder.file(name), {.encoding = encoding});
    digests[check_digests(open_model(folder.file(name)), tokens)] = name;
  }
  CHECK(digests.size() == pack_encodings().size());
}

TEST_CASE("packed experts run, and decode to what they stand for", "[mova]") {
  const TempFolder folder;
  const std::string source = data_path("mova/mova");
  const auto tokens = MovaGolden(source).tokens;
  for (const Encoding encoding : pack_encodings()) {
    const std::string name(encoding_info(encoding).name);
    INFO(name);
    SeedPackOptions options{.encoding = Encoding::bf16};
    options.rules.push_back({"*.1.self_attn.v_experts.weight", encoding});
    options.rules.push_back({"*.2.mlp.experts.down_proj.weight", encoding});
    pack(source, folder.file(name), options);
    const Model model = open_model(folder.file(name));
    check_digests(model, tokens);
    pack(folder.file(name), folder.file(name + "-back"), {.encoding = Encoding::bf16});
    const Model back = open_model(folder.file(name + "-back"));
    const Model plain = open_model(source);
    for (const auto& [role, layer] : {std::pair{Role::v_expert, 1u}, std::pair{Role::expert_w2, 2u}}) {
      const auto packed = model.find_all(role, layer);
      REQUIRE(packed.size() == role_count(model.desc(), role));
      for (std::size_t i = 0; i < packed.size(); ++i) {
        CHECK(packed[i].view.encoding == encoding);
        CHECK(rms_difference(packed[i].view, back.find_all(role, layer)[i].view) == 0);
        const double error = rms_difference(packed[i].view, plain.find_all(role, layer)[i].view);
        const double rms = tensor_stats(plain.find_all(role, layer)[i].view, 1).rms;
        CHECK(error <= 0.2 * rms);
        CHECK((error == 0) == (encoding == Encoding::bf16));
      }
    }
  }
}

TEST_CASE("a checkpoint with a tensor for each expert packs to the same folder", "[mova]") {
  const TempFolder folder;
  const std::string source = data_path("mova/mova");
  write_mova_entries(folder, source, apart(read_mova_entries(source)));
  for (const Encoding encoding : {Encoding::bf16, Encoding::q4g64}) {
    const std::string name(encoding_info(encoding).name);
    pack(source, folder.file(name), {.encoding = encoding});
    pack(folder.path(), folder.file(name + "-apart"), {.encoding = encoding});
    for (const std::string file :
         {"model-00001-of-00001.safetensors", "model.safetensors.index.json", "config.json"})
      CHECK(read_file(folder.file(name) + "/" + file) ==
            read_file(folder.file(name + "-apart") + "/" + file));
  }
}

TEST_CASE("experts that cannot be stacked are refused by name", "[mova]") {
  const std::string source = data_path("mova/mova");
  const auto message_of = [&](const std::function<void(std::vector<MovaEntry>&)>& change) {
    const TempFolder folder;
    std::vector<MovaEntry> entries = apart(read_mova_entries(source));
    change(entries);
    write_mova_entries(folder, source, entries);
    const auto plan = plan_pack(folder.path(), folder.file("out"), {.encoding = Encoding::q8g64});
    return plan ? "" : plan.error().message;
  };
  const std::string one = "model.layers.1.mlp.experts.1.gate_proj.weight";
  CHECK(message_of([](std::vector<MovaEntry>&) {}).empty());
  CHECK(message_of([&](std::vector<MovaEntry>& entries) {
          std::erase_if(entries, [&](const MovaEntry& entry) { return entry.name == one; });
        }) == one + " is missing");
  CHECK(message_of([&](std::vector<MovaEntry>& entries) {
          for (MovaEntry& entry : entries) {
            if (entry.name == one) entry.shape = {128, 64};
          }
        }) == "BF16 of shape [128, 64] cannot be stacked on BF16 of shape [64, 128], that of expert 0");
}
