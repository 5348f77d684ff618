#include "seed_pack/latent.hpp"

#include "common/id_format.hpp"
#include "common/number_list.hpp"
#include "common/open_model.hpp"
#include "common/progress.hpp"

#include <ml/input.hpp>
#include <ml/tokenizer.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace seed_pack {

namespace {

// A text, or, where nothing can read it, ids.
std::optional<std::vector<std::uint32_t>> read_tokens(cli::Tool& tool, const std::string& input,
                                                      const LatentArguments& arguments) {
  const auto text = ml::read_text(arguments.calibrate);
  if (!text) return tool.fail(ml::with_path(text.error(), arguments.calibrate)), std::nullopt;
  const std::string path = arguments.tokenizer.empty() ? ml::find_tokenizer(input) : arguments.tokenizer;
  if (path.empty()) {
    auto ids = cli::parse_ids(*text, "ids");
    if (ids) return *std::move(ids);
    ml::Error error = ml::with_path(ids.error(), arguments.calibrate);
    error.message += "; without a tokenizer beside the model the file must hold token ids";
    return tool.fail(error), std::nullopt;
  }
  const auto tokenizer = ml::Tokenizer::open(path);
  if (!tokenizer) return tool.fail(ml::with_path(tokenizer.error(), path)), std::nullopt;
  return tokenizer->encode(*text, {.bos = (tokenizer->flags() & ml::kMltBos) != 0 && tokenizer->bos()});
}

std::vector<std::uint32_t> parse_ranks(const std::string& text) {
  auto ranks = cli::parse_numbers(text);
  if (!ranks) throw CLI::ValidationError("--to-mla", fmt::format("is '{}', must be ranks, like 0,512", text));
  return *std::move(ranks);
}

}  // namespace

void add_latent_options(CLI::App& app, LatentArguments& arguments) {
  app.add_option_function<std::string>(
         "--to-mla", [&arguments](const std::string& text) { arguments.ranks = parse_ranks(text); },
         "Convert attention to latent attention of this rank, or of a rank for each layer (0: not)")
      ->type_name("RANK[,RANK...]");
  app.add_option("--calibrate", arguments.calibrate, "The text that --to-mla fits and measures with")
      ->type_name("FILE");
  app.add_option("-m,--tokenizer", arguments.tokenizer,
                 "Tokenizer of --calibrate; default: the one beside the model")
      ->type_name(cli::type_of("FILE", cli::tokenizer_files()));
}

std::optional<ml::LatentConversion> convert(cli::Tool& tool, const std::string& input,
                                            const LatentArguments& arguments, bool plan_only) {
  const auto model = cli::open_model(tool, input);
  if (!model) return tool.fail(model.error()), std::nullopt;
  if (plan_only) {
    auto plan = ml::plan_latent(*model, arguments.ranks);
    if (!plan) return tool.fail(ml::with_path(plan.error(), input)), std::nullopt;
    return *std::move(plan);
  }
  auto tokens = read_tokens(tool, input, arguments);
  if (!tokens) return std::nullopt;
  constexpr std::uint64_t kSteps = 1000;
  cli::Progress progress(tool, "converting", kSteps);
  auto conversion = ml::convert_to_latent(
      *model, {.ranks = arguments.ranks,
               .tokens = *std::move(tokens),
               .threads = tool.threads(),
               .target = tool.target(),
               .progress = [&](double share) { progress.set(static_cast<std::uint64_t>(share * kSteps)); }});
  if (!conversion) return tool.fail(ml::with_path(conversion.error(), input)), std::nullopt;
  return *std::move(conversion);
}

std::string latent_text(const ml::LatentReport& report) {
  using Align = cli::Table::Align;
  cli::Table table({Align::right, Align::right, Align::right, Align::right, Align::right});
  table.add({"layer", "rank", "key energy lost", "latent energy lost", "KL alone"});
  for (const ml::LatentLayerReport& layer : report.layers) {
    table.add({fmt::format("{}", layer.layer), fmt::format("{}", layer.rank),
               fmt::format("{:.4f}", layer.rotation_lost), fmt::format("{:.4f}", layer.latent_lost),
               fmt::format("{:.6f}", layer.kl)});
  }
  return table.text() + fmt::format("all: KL {:.6f}, perplexity {}, before {} ({} of {} tokens)\n", report.kl,
                                    cli::decimal(report.perplexity, 4),
                                    cli::decimal(report.base_perplexity, 4), report.n_scored,
                                    report.n_tokens);
}

nlohmann::ordered_json latent_json(const ml::LatentReport& report) {
  nlohmann::ordered_json layers = nlohmann::json::array();
  for (const ml::LatentLayerReport& layer : report.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"rank", layer.rank},
                      {"key_energy_lost", layer.rotation_lost},
                      {"latent_energy_lost", layer.latent_lost},
                      {"kl", layer.kl}});
  }
  return {{"layers", std::move(layers)},     {"n_tokens", report.n_tokens},
          {"n_scored", report.n_scored},     {"kl", report.kl},
          {"perplexity", report.perplexity}, {"base_perplexity", report.base_perplexity},
          {"seconds", report.seconds}};
}

}  // namespace seed_pack
