// K2-Horizon MoVA: logits, the choices of its routers, and what they leave untouched.

#include "catch.hpp"
#include "folder.hpp"
#include "models.hpp"
#include "oracle/mova_support.hpp"

#include <cstring>

using namespace ml;

namespace {

const std::string& mova() {
  static const std::string path = data_path("mova/mova");
  return path;
}

SessionOptions float_options() { return {.activations = Activations::f32, .kv = KvType::f32, .threads = 1}; }

Model open_entries(const TempFolder& folder, const std::vector<MovaEntry>& entries) {
  write_mova_entries(folder, mova(), entries);
  return open_model(folder.path());
}

}  // namespace

TEST_CASE("MoVA gives the reference's logits and router choices", "[mova]") {
  const Model model = open_model(mova());
  const MovaGolden golden(mova());
  std::map<MovaGolden::Place, std::vector<std::uint32_t>> routes;
  SessionOptions options = float_options();
  options.routes = collect_routes(routes);
  CHECK(largest_difference(logits_of(model, golden.tokens, options), golden.logits) < 1e-3);
  CHECK(routes == golden.routes);
}

TEST_CASE("MoVA has the same bits on every target, with any threads, batch and cut", "[mova]") {
  const Model model = open_model(mova());
  const std::vector<std::uint32_t> tokens = MovaGolden(mova()).tokens;
  for (const Activations activations : {Activations::f32, Activations::q8}) {
    SessionOptions options{.activations = activations, .threads = 1, .target = Target::scalar};
    const auto expected = logits_of(model, tokens, options);
    for (const Target target : available_targets()) {
      options.target = target;
      for (const unsigned threads : {1u, 2u, 3u}) {
        options.threads = threads;
        for (const std::uint32_t batch : {1u, 2u, 3u, 17u, 512u}) {
          if (kSanitized && batch != 17) continue;
          options.batch = batch;
          INFO(target_name(target) << " threads " << threads << " batch " << batch);
          CHECK(same_bits(logits_of(model, tokens, options), expected));
        }
      }
    }
  }
}

TEST_CASE("experts that no router chose are not touched", "[mova]") {
  const std::vector<std::uint32_t> tokens{50, 232};
  std::map<MovaGolden::Place, std::vector<std::uint32_t>> routes;
  SessionOptions options = float_options();
  options.routes = collect_routes(routes);
  const auto expected = logits_of(open_model(mova()), tokens, options);

  std::vector<MovaEntry> entries = read_mova_entries(mova());
  std::size_t n_poisoned = 0;
  for (MovaEntry& entry : entries) {
    if (entry.shape.size() != 3) continue;
    const bool values = entry.name.find("v_experts") != std::string::npos;
    const auto layer = static_cast<std::uint32_t>(entry.name.at(std::string("model.layers.").size()) - '0');
    const std::size_t n_bytes = entry.bytes.size() / entry.shape[0];
    for (std::uint32_t expert = 0; expert < entry.shape[0]; ++expert) {
      bool used = false;
      for (std::uint32_t position = 0; position < tokens.size(); ++position) {
        const auto& chosen = routes.at({layer, position, values});
        used = used || std::find(chosen.begin(), chosen.end(), expert) != chosen.end();
      }
      if (used) continue;
      std::memset(entry.bytes.data() + expert * n_bytes, 0xff, n_bytes);  // NaN
      ++n_poisoned;
    }
  }
  CHECK(n_poisoned > 8);
  const TempFolder folder;
  CHECK(same_bits(logits_of(open_entries(folder, entries), tokens, options), expected));
}

TEST_CASE("a checkpoint with a tensor for each expert is the same model", "[mova]") {
  const TempFolder folder;
  const std::vector<std::uint32_t> tokens = MovaGolden(mova()).tokens;
  CHECK(same_bits(logits_of(open_entries(folder, apart(read_mova_entries(mova()))), tokens, float_options()),
                  logits_of(open_model(mova()), tokens, float_options())));
}
