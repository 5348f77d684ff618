#include "convert/config.hpp"

#include "util/json.hpp"
#include "util/narrow.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

namespace ml {

namespace {

using nlohmann::json;

const json* find_in(const json* object, std::string_view key) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(key);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

constexpr std::string_view kTextConfig = "text_config";

}  // namespace

Result<Config> Config::parse(std::string_view text, std::string path) {
  auto parsed = parse_json(text);
  if (!parsed) return with_path(std::move(parsed.error()), path);
  if (!parsed->is_object()) {
    return Error{.status = Status::format,
                 .message = fmt::format("is {}, must be an object", show_json(*parsed)),
                 .path = std::move(path),
                 .offset = 0};
  }
  Config config;
  config.root_ = std::make_shared<const json>(std::move(*parsed));
  config.object_ = config.root_.get();
  config.path_ = std::move(path);
  if (const json* below = find_in(config.object_, kTextConfig)) {
    if (!below->is_object()) return config.wrong(kTextConfig, "an object");
    config.below_ = below;
  }
  return config;
}

Config Config::from_object(json object, std::string path,
                           std::map<std::string, std::string, std::less<>> names) {
  Config config;
  config.root_ = std::make_shared<const json>(std::move(object));
  config.object_ = config.root_.get();
  config.path_ = std::move(path);
  config.names_ = std::move(names);
  return config;
}

Config::Found Config::find(std::string_view key) const {
  if (const json* value = find_in(object_, key)) return {value, prefix_ + std::string(key)};
  if (const json* value = find_in(below_, key)) return {value, fmt::format("{}.{}", kTextConfig, key)};
  return {nullptr, prefix_ + std::string(key)};
}

bool Config::is_null(std::string_view key) const {
  const auto null_in = [&](const json* object) {
    return object != nullptr && object->contains(key) && object->find(key)->is_null();
  };
  return !has(key) && (null_in(object_) || null_in(below_));
}

Error Config::wrong(std::string_view key, std::string_view rule, Status status) const {
  const Found found = find(key);
  const std::string what = found.value == nullptr ? "missing" : show_json(*found.value);
  const auto name = names_.find(found.name);
  return {.status = status,
          .message = fmt::format("{} is {}, must be {}", name == names_.end() ? found.name : name->second,
                                 what, rule),
          .path = path_};
}

Result<std::uint32_t> Config::count(std::string_view key, std::uint32_t min, std::uint32_t max,
                                    std::optional<std::uint32_t> missing) const {
  const json* value = find(key).value;
  if (value == nullptr && missing) return *missing;
  const std::string rule = fmt::format("an integer from {} to {}", min, max);
  if (value == nullptr || !value->is_number_integer()) return wrong(key, rule);
  const bool fits =
      value->is_number_unsigned() && value->get<std::uint64_t>() >= min && value->get<std::uint64_t>() <= max;
  if (!fits) return wrong(key, rule, Status::shape);
  return static_cast<std::uint32_t>(value->get<std::uint64_t>());
}

Result<float> Config::number(std::string_view key, std::optional<float> missing,
                             std::string_view rule) const {
  const json* value = find(key).value;
  if (value == nullptr && missing) return *missing;
  if (value == nullptr || !value->is_number()) return wrong(key, rule);
  const auto number = narrow_to_f32(value->get<double>());
  if (!number) return wrong(key, rule);
  return *number;
}

Result<float> Config::positive(std::string_view key, std::optional<float> missing) const {
  constexpr std::string_view kRule = "a number above 0 within float32";
  ML_TRY(const float value, number(key, missing, kRule));
  if (!(value > 0)) return wrong(key, kRule);
  return value;
}

Result<float> Config::non_negative(std::string_view key, std::optional<float> missing) const {
  constexpr std::string_view kRule = "a number of 0 or more within float32";
  ML_TRY(const float value, number(key, missing, kRule));
  if (!(value >= 0)) return wrong(key, kRule);
  return value;
}

Result<bool> Config::flag(std::string_view key, bool missing) const {
  const json* value = find(key).value;
  if (value == nullptr) return missing;
  if (!value->is_boolean()) return wrong(key, "true or false");
  return value->get<bool>();
}

Result<std::string> Config::text(std::string_view key) const {
  const json* value = find(key).value;
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong(key, "a string");
  return value->get<std::string>();
}

Result<std::string> Config::first_text(std::string_view key) const {
  const json* value = find(key).value;
  if (value == nullptr) return std::string();
  if (!value->is_array()) return wrong(key, "a list of strings");
  if (value->empty()) return std::string();
  if (!(*value)[0].is_string()) return wrong(key, "a list of strings");
  return (*value)[0].get<std::string>();
}

Result<std::vector<std::string>> Config::texts(std::string_view key) const {
  const json* value = find(key).value;
  std::vector<std::string> list;
  if (value == nullptr) return list;
  if (!value->is_array()) return wrong(key, "a list of strings");
  for (const json& element : *value) {
    if (!element.is_string()) return wrong(key, "a list of strings");
    list.push_back(element.get<std::string>());
  }
  return list;
}

namespace {

bool is_u32(const json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX;
}

}  // namespace

Result<std::vector<std::uint32_t>> Config::counts(std::string_view key) const {
  constexpr std::string_view kRule = "a list of integers from 0 to 4294967295";
  const json* value = find(key).value;
  std::vector<std::uint32_t> list;
  if (value == nullptr) return list;
  if (!value->is_array()) return wrong(key, kRule);
  for (const json& element : *value) {
    if (!is_u32(element)) return wrong(key, kRule);
    list.push_back(element.get<std::uint32_t>());
  }
  return list;
}

Result<std::vector<std::uint32_t>> Config::one_or_more_counts(std::string_view key) const {
  const json* value = find(key).value;
  if (value == nullptr || value->is_array()) return counts(key);
  if (!is_u32(*value)) return wrong(key, "an integer from 0 to 4294967295 or a list of them");
  return std::vector<std::uint32_t>{value->get<std::uint32_t>()};
}

Result<std::optional<Config>> Config::object(std::string_view key) const {
  const Found found = find(key);
  if (found.value == nullptr) return std::optional<Config>();
  if (!found.value->is_object()) return wrong(key, "an object");
  Config inner;
  inner.root_ = root_;
  inner.object_ = found.value;
  inner.prefix_ = found.name + ".";
  inner.path_ = path_;
  inner.names_ = names_;
  return std::optional<Config>(std::move(inner));
}

}  // namespace ml
