// Packed models run: the reference's logits with f32, the .mlb's bits with int8_g32, the same bits whatever
// the target and the batch with every other encoding.

#include "models.hpp"
#include "mog_support.hpp"
#include "oracle/support.hpp"

#include <functional>

using namespace ml;

namespace {

const SessionOptions kExact{.activations = Activations::f32, .kv = KvType::f32};

// The recipe without rope_interleave: rows stay as in the checkpoint.
std::string without_interleaving(const std::string& recipe) {
  auto json = nlohmann::json::parse(read_file(recipe));
  const std::function<void(nlohmann::json&)> visit = [&](nlohmann::json& entries) {
    for (auto& entry : entries) {
      if (entry.contains("entries")) visit(entry["entries"]);
      if (!entry.contains("transform")) continue;
      if (entry["transform"].is_array()) {
        std::erase(entry["transform"].get_ref<nlohmann::json::array_t&>(), "rope_interleave");
      } else if (entry["transform"] == "rope_interleave") {
        entry.erase("transform");
      }
    }
  };
  visit(json["tensors"]);
  return json.dump();
}

}  // namespace

TEST_CASE("every family packed with f32 gives the reference's logits, in both rope layouts",
          "[mog][oracle]") {
  const TempFolder folder;
  for (const auto& [name, recipe] : oracle_recipes()) {
    INFO(name);
    const std::string source = data_path("oracle/" + name);
    const Golden golden(source);
    pack_mog(recipe_path(recipe), source, folder.file("a.mog"), {{"*", "f32"}});
    const Model interleaved = open_model(folder.file("a.mog"));
    CHECK(interleaved.desc().rope.layout == RopeLayout::interleaved);
    CHECK(relative_error(logits_of(interleaved, golden.tokens, kExact), golden.logits) < 1e-4);

    folder.write("half.json", without_interleaving(recipe_path(recipe)));
    pack_mog(folder.file("half.json"), source, folder.file("b.mog"), {{"*", "f32"}});
    const Model half = open_model(folder.file("b.mog"));
    CHECK(half.desc().rope.layout == RopeLayout::rotate_half);
    CHECK(relative_error(logits_of(half, golden.tokens, kExact), golden.logits) < 1e-4);
  }
}

TEST_CASE("int8_g32 and int4h_g32 give the bits of a .mlb in Q8_0 and Q4_0", "[mog][oracle]") {
  const TempFolder folder;
  for (const auto& [name, recipe] : oracle_recipes()) {
    INFO(name);
    const std::string source = data_path("oracle/" + name);
    const Model checkpoint = open_model(source);
    const Golden golden(source);
    for (const ScaleType scales : {ScaleType::f32, ScaleType::f16}) {
      const std::string suffix(scale_type_name(scales));
      folder.remove(suffix + ".mlb");
      quantize_to(folder.file(suffix + ".mlb"), checkpoint, {.type = Encoding::q8_0, .scales = scales});
      std::vector<MogOverride> overrides{{"*", "int8_g32_" + suffix}};
      for (const char* vectors : {"*norm", "*_bias", "*lin_conv", "*lin_a_log", "*lin_dt_bias"})
        overrides.push_back({vectors, "f32"});
      std::erase_if(overrides, [&used = recipe](const MogOverride& row) {
        return (row.glob == "*_bias" && used != "qwen2") ||
               (row.glob.starts_with("*lin") && used != "qwen3_5");
      });
      pack_mog(recipe_path(recipe), source, folder.file(suffix + ".mog"), overrides);
      const auto mlb = logits_of(open_model(folder.file(suffix + ".mlb")), golden.tokens, {});
      const auto mog = logits_of(open_model(folder.file(suffix + ".mog")), golden.tokens, {});
      REQUIRE(mlb.size() == golden.logits.size());
      CHECK(mog == mlb);

      folder.remove(suffix + ".mlb");
      quantize_to(folder.file(suffix + ".mlb"), checkpoint, {.type = Encoding::q4_0, .scales = scales});
      overrides[0].encoding = "int4h_g32_" + suffix;
      for (const char* slot : {"*.lin_b", "*.lin_a"}) {  // always Q8_0 in a .mlb
        if (recipe == "qwen3_5") overrides.push_back({slot, "int8_g32_" + suffix});
      }
      pack_mog(recipe_path(recipe), source, folder.file(suffix + ".mog"), overrides);
      CHECK(logits_of(open_model(folder.file(suffix + ".mog")), golden.tokens, {}) ==
            logits_of(open_model(folder.file(suffix + ".mlb")), golden.tokens, {}));
    }
  }
}

TEST_CASE("every encoding runs to the same bits on every target, batch and thread count", "[mog][oracle]") {
  const TempFolder folder;
  const std::string source = data_path("models/qwen3-stories");
  const std::vector<std::uint32_t> tokens{1, 7, 300, 20, 5, 99, 256, 3, 411, 8, 42, 17, 60};
  pack_mog(recipe_path("qwen3"), source, folder.file("f32.mog"), {{"*", "f32"}});
  const auto exact = logits_of(open_model(folder.file("f32.mog")), tokens, kExact);
  for (const MogEncoding& encoding : mog_encodings()) {
    // Heads of 48 columns do not divide into groups; only matrices change.
    std::vector<MogOverride> overrides;
    for (const char* glob : {"embed", "*_proj"}) overrides.push_back({glob, encoding.name});
    const bool wide = encoding_info(encoding.encoding).block_weights == 128;
    if (wide) overrides.push_back({"*.o_proj", "int8_g64_f32"});  // 192 columns
    INFO(encoding.name);
    pack_mog(recipe_path("qwen3"), source, folder.file("a.mog"), overrides);
    const Model model = open_model(folder.file("a.mog"));
    const auto logits = logits_of(model, tokens, {.threads = 1, .target = Target::scalar});
    REQUIRE(logits.size() == exact.size());
    CHECK(relative_error(logits, exact) < (encoding.name.starts_with("int4") ? 0.6 : 0.05));
    for (const Target target : available_targets()) {
      for (const std::uint32_t batch : {1u, 3u, 512u}) {
        CHECK(logits_of(model, tokens, {.batch = batch, .threads = 1 + batch % 3, .target = target}) ==
              logits);
      }
    }
  }
}
