#include "common/option_table.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

namespace cli {

namespace {

// CLI11 tells a fixed set of values only in the type's text: "TEXT:{a,b}" or "TEXT:value in {a->0,b->1} OR
// {0,1}".
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::string_view rest(type.data() + open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    choices.emplace_back(item.substr(0, item.find("->")));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return choices;
}

std::string argument_of(const std::string& type) {
  const std::string base = type.substr(0, type.find_first_of(":{\x1f"));
  const std::vector<std::string> choices = choices_of(type);
  if (!choices.empty()) {
    std::string joined;
    for (const std::string& choice : choices) joined += (joined.empty() ? "" : "|") + choice;
    constexpr std::size_t kLongest = 48;  // a line of help that holds the option's name, too
    return joined.size() <= kLongest ? joined : "NAME";
  }
  if (base == "INT" || base == "UINT") return "N";
  if (base == "FLOAT") return "X";
  return base.empty() ? "VALUE" : base;
}

// Where a tool says nothing: a fixed set as CLI11 knows it, else what such a value usually is.
std::vector<Values> values_of(const std::string& type, const std::string& shown) {
  if (auto told = values_in(type)) return *told;
  if (std::vector<std::string> choices = choices_of(type); !choices.empty())
    return {{.names = std::move(choices), .separators = type.ends_with("[,...]") ? "," : ""}};
  return {usual_values(shown)};
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  row.short_names = option.get_snames();
  row.long_names = option.get_lnames();
  row.operand = !option.nonpositional();
  row.required = option.get_required();
  row.many = option.get_expected_max() > 1;
  row.description = option.get_description();
  row.default_value = option.get_default_str();
  row.group = option.get_group();
  if (row.operand) {
    row.argument = option.get_name(true, false);
    const auto told = values_in(option.get_type_name());
    row.values = told ? *told : std::vector<Values>{usual_values(row.argument)};
    row.values.front().files = true;
  } else if (option.get_type_size() != 0 && option.get_items_expected_max() != 0) {
    std::string type = option.get_type_name();
    if (type.find(":FILE") != std::string::npos || type.find(":DIR") != std::string::npos) type = "FILE";
    row.argument = argument_of(type);
    row.values = values_of(type, row.argument);
  } else if (const auto told = values_in(option.get_type_name())) {
    row.operands = told->front();
  }
  return row;
}

}  // namespace

std::vector<OptionRow> option_table(const CLI::App& app) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) rows.push_back(row_of(*option));
  }
  const auto rank = [](const OptionRow& row) { return row.operand ? 0 : row.group == kCommonGroup ? 2 : 1; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const OptionRow& a, const OptionRow& b) { return rank(a) < rank(b); });
  return rows;
}

}  // namespace cli
