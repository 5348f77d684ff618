#include "mlb_info/words.hpp"

#include "common/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>

namespace mlb_info {

std::string float_text(float value) { return fmt::format("{}", value); }

nlohmann::ordered_json float_json(float value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(float_text(value).c_str(), nullptr);
}

std::string value_text(const ml::InfoField::Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
          return cli::printable(held);
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

nlohmann::ordered_json value_json(const ml::InfoField::Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, float>) {
          return float_json(held);  // a double that is not finite becomes null, too
        } else {
          return held;
        }
      },
      value);
}

std::string encoding_text(const ml::InfoArray& array) {
  return array.scale_type == ml::ScaleType::f16 ? array.encoding + "/f16" : array.encoding;
}

std::string shape_text(const ml::InfoArray& array) {
  return array.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(array.shape, "x"));
}

}  // namespace mlb_info
