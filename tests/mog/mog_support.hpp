#pragma once

#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"

#include <ml/mog_pack.hpp>

#include <string>
#include <vector>

/// The installed recipe of that name.
inline std::string recipe_path(const std::string& name) {
  return data_path("../../share/recipes/" + name + ".json");
}

/// Packs a checkpoint into `out`, which may exist.
inline ml::MogPackReport pack_mog(const std::string& recipe, const std::string& root, const std::string& out,
                                  const std::vector<ml::MogOverride>& overrides = {}, unsigned threads = 0,
                                  ml::Target target = ml::Target::best) {
  const auto pack =
      ml::MogPack::plan(recipe, {.root = root, .overrides = overrides, .threads = threads, .target = target});
  if (!pack) FAIL(ml::describe(pack.error()));
  auto file = ml::OutputFile::create(out, {.force = true});
  REQUIRE(file);
  const auto written = pack->write(*file);
  if (!written) FAIL(ml::describe(written.error()));
  REQUIRE(file->commit());
  return pack->report();
}

/// Models of tests/data/oracle and the recipe of each.
inline const std::vector<std::pair<std::string, std::string>>& oracle_recipes() {
  static const std::vector<std::pair<std::string, std::string>> rows{
      {"gemma2", "gemma2"},
      {"gemma3-text", "gemma3_text"},
      {"llama-linear-rope", "llama"},
      {"llama2-mha", "llama"},
      {"llama3-gqa-q4", "llama"},
      {"llama3-gqa-tied", "llama"},
      {"llama31-rope-llama3", "llama"},
      {"mistral-sliding", "mistral"},
      {"phi3-fused", "phi3"},
      {"qwen2-bias-tied", "qwen2"},
      {"qwen2-yarn", "qwen2"},
      {"qwen3-headdim", "qwen3"},
      {"qwen35-hybrid", "qwen3_5"},
      {"smollm3-nope", "smollm3"},
  };
  return rows;
}
