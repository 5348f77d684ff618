#include "common/csv.hpp"

#include "common/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace cli {

namespace {

using nlohmann::ordered_json;

std::string cell(const ordered_json& value) {
  if (value.is_null() || value.empty()) return "";
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return fmt::format("{}", value.get<double>());
  const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv_text(const std::vector<ordered_json>& rows, const std::string& leave_out) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> lines;
  for (const ordered_json& row : rows) {
    ordered_json kept = row;
    if (!leave_out.empty()) kept.erase(leave_out);
    const ordered_json flat = kept.flatten();
    std::map<std::string, std::string>& line = lines.emplace_back();
    for (const auto& [key, value] : flat.items()) {
      std::string name = key.substr(1);
      std::replace(name.begin(), name.end(), '/', '_');
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      line[name] = cell(value);
    }
  }
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : ",") + names[i];
  if (!names.empty()) out += '\n';
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) out += ',';
      const auto found = line.find(names[i]);
      if (found != line.end()) out += found->second;
    }
    out += '\n';
  }
  return out;
}

}  // namespace cli
