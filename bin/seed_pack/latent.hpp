#pragma once

#include "common/text.hpp"
#include "common/tool.hpp"

#include <ml/latent.hpp>

#include <optional>
#include <string>
#include <vector>

namespace seed_pack {

/// Options of the conversion to latent attention.
struct LatentArguments {
  std::vector<std::uint32_t> ranks;
  std::string calibrate;
  std::string tokenizer;
};

void add_latent_options(CLI::App& app, LatentArguments& arguments);

/// Plans a conversion, or makes it. What failed was reported.
std::optional<ml::LatentConversion> convert(cli::Tool& tool, const std::string& input,
                                            const LatentArguments& arguments, bool plan_only);

std::string latent_text(const ml::LatentReport& report);
nlohmann::ordered_json latent_json(const ml::LatentReport& report);

}  // namespace seed_pack
