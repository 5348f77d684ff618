#include "convert/recipe_config.hpp"

#include "convert/family.hpp"
#include "formats/mlb_layout.hpp"
#include "formats/mog_layout.hpp"
#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/narrow.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

using nlohmann::json;

// The bits of a word of the configuration.
Result<std::uint32_t> word_of(const json& value, const MogField& field, const std::string& at) {
  if (field.type == MogType::f32) {
    const auto number = value.is_number() ? narrow_to_f32(value.get<double>()) : std::nullopt;
    if (!number)
      return recipe_error(at, fmt::format("is {}, must be a number within float32", show_json(value)));
    return std::bit_cast<std::uint32_t>(*number);
  }
  if (value.is_boolean()) return value.get<bool>() ? 1u : 0u;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT32_MAX)
    return recipe_error(at, fmt::format("is {}, must be an integer from 0 to 4294967295", show_json(value)));
  return value.get<std::uint32_t>();
}

Result<void> read_flags(const json& value, const std::string& at, MogConfig& config) {
  if (!value.is_array() || value.size() != config.n_layers || value.size() > kMogMaxLayers) {
    return recipe_error(
        at, fmt::format("is {}, must be a list of n_layers integers, {}", show_json(value), config.n_layers));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_number_unsigned() || value[i].get<std::uint64_t>() > 255) {
      return recipe_error(fmt::format("{}[{}]", at, i),
                          fmt::format("is {}, must be 0 to 255", show_json(value[i])));
    }
    config.layer_flags[i] = value[i].get<std::uint8_t>();
  }
  return {};
}

// As in a .mlb without flags: a window is that of every layer.
void set_usual_flags(MogConfig& config) {
  const auto n = std::min(config.n_layers, kMogMaxLayers);
  std::fill_n(config.layer_flags.begin(), n, static_cast<std::uint8_t>(config.sliding_window != 0));
}

Result<RecipeConfig> read_values(const json& values, RecipeFiles& files) {
  RecipeConfig result;
  MogConfig& config = result.config;
  const json* flags = nullptr;
  for (const auto& [name, given] : values.items()) {
    const std::string at = "config." + show_name(name);
    const MogField* field = find_mog_config_field(name);
    if (field == nullptr) {
      return recipe_error(at, "is an unknown key, must be a field of the configuration in mog(5)");
    }
    const json* value = &given;
    if (given.is_object()) {
      ML_TRY(value, files.value(given, at));
    }
    if (field->type == MogType::bytes) {
      flags = value;
      continue;
    }
    ML_TRY(const std::uint32_t word, word_of(*value, *field, at));
    std::memcpy(reinterpret_cast<char*>(&config) + (field->offset - kMogConfigAt), &word, sizeof word);
  }
  result.layout_given = values.contains("rope_layout");
  if (flags != nullptr) {
    ML_CHECK(read_flags(*flags, "config.layer_flags", config));
  } else {
    set_usual_flags(config);
  }
  return result;
}

Result<RecipeConfig> read_auto(const std::string& architecture, RecipeFiles& files) {
  if (!files.has("config")) return recipe_error("config", "is \"auto\", but files has no \"config\"");
  ML_TRY(const json* document, files.document("config", "config"));
  ML_TRY(const std::string path, files.path("config", "config"));
  ML_TRY(const Config source, Config::parse(document->dump(), path));
  auto family = find_family(source);
  if (!family) return with_path(std::move(family.error()), path);
  std::string name((*family)->name);
  std::replace(name.begin(), name.end(), '.', '_');
  if (name != architecture) {
    return recipe_error("architecture",
                        fmt::format("is \"{}\", but config.json is that of a {}", architecture, name));
  }
  ML_TRY(ModelDesc desc, describe_checkpoint(source, **family));
  RecipeConfig result;
  result.source_hidden_dim = desc.hidden_dim;
  desc.hidden_dim = (desc.hidden_dim + kBlock - 1) / kBlock * kBlock;
  const auto header = make_mlb_header(desc, {});
  if (!header)
    return recipe_error("config", "from config.json: " + header.error().message, header.error().status);
  result.config = mog_config(*header);
  const std::vector<std::uint8_t> flags = make_mlb_layer_flags(desc);
  set_usual_flags(result.config);
  if (flags.size() <= kMogMaxLayers) std::copy(flags.begin(), flags.end(), result.config.layer_flags.begin());
  return result;
}

}  // namespace

Result<MogArchitecture> read_recipe_architecture(const json& recipe) {
  std::vector<std::string_view> names;
  for (const MogArchitecture& row : mog_architectures()) {
    if (recipe["architecture"] == row.name) return row;
    names.push_back(row.name);
  }
  return recipe_error("architecture", fmt::format("is {}, must be one of {}",
                                                  show_json(recipe["architecture"]), fmt::join(names, ", ")));
}

Result<RecipeConfig> read_recipe_config(const json& recipe, RecipeFiles& files) {
  ML_TRY(const MogArchitecture architecture, read_recipe_architecture(recipe));
  const json& values = recipe["config"];
  if (!values.is_object() && values != "auto")
    return recipe_error("config", fmt::format("is {}, must be an object or \"auto\"", show_json(values)));
  ML_TRY(RecipeConfig result,
         values.is_object() ? read_values(values, files) : read_auto(std::string(architecture.name), files));
  const std::vector<Error> defects = mog_config_defects(result.config);
  if (!defects.empty()) return recipe_error("config:", defects.front().message, defects.front().status);
  result.desc = mog_desc(result.config);
  if (result.source_hidden_dim == 0) result.source_hidden_dim = result.desc.hidden_dim;
  return result;
}

}  // namespace ml
