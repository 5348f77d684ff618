#include "convert/family.hpp"
#include "convert/gemma.hpp"
#include "convert/k2_horizon.hpp"
#include "convert/llama.hpp"
#include "convert/phi3.hpp"
#include "convert/qwen.hpp"
#include "convert/qwen35.hpp"
#include "convert/smollm3.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ml {

namespace {

constexpr std::array<const Family*, 11> kFamilies{
    &kLlamaFamily,  &kMistralFamily, &kQwen2Family,   &kQwen3Family, &kQwen35Family,    &kGemmaFamily,
    &kGemma2Family, &kGemma3Family,  &kSmolLm3Family, &kPhi3Family,  &kK2HorizonFamily,
};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string known_families() {
  std::vector<std::string_view> names;
  for (const Family* family : kFamilies) names.push_back(family->name);
  return fmt::format("one of the supported families: {}", fmt::join(names, ", "));
}

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

Result<const Family*> find_family(const Config& config) {
  ML_TRY(const std::string model_type, config.text("model_type"));
  ML_TRY(const std::string architecture, config.first_text("architectures"));
  if (model_type.empty() && architecture.empty()) return config.wrong("model_type", known_families());
  for (const Family* family : kFamilies) {
    if (!model_type.empty() && !contains(family->model_types, model_type)) continue;
    if (!architecture.empty() && !contains(family->architectures, architecture)) {
      if (model_type.empty()) continue;
      Error error = config.wrong("architectures", "", Status::unsupported);
      error.message = fmt::format("architectures is {}, model_type {} needs {}", show_name(architecture),
                                  model_type, fmt::join(family->architectures, " or "));
      return error;
    }
    return family;
  }
  Error error = config.wrong(model_type.empty() ? "architectures" : "model_type", known_families(),
                             Status::unsupported);
  if (model_type.empty()) {
    error.message = fmt::format("architectures is {}, must be {}", show_name(architecture), known_families());
  }
  return error;
}

}  // namespace ml
