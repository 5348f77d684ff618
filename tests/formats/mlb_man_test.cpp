// The manual's tables of .mlb say what the code does.

#include "catch.hpp"
#include "data.hpp"
#include "formats/mlb_layout.hpp"

#include <ml/quantize.hpp>

#include <fmt/format.h>

#include <regex>

using namespace ml;

namespace {

// The page's table cells, one a line, without escapes: "8\nu32\ndim\nwidth of the model".
std::string page_cells() {
  const std::string page = read_file(data_path("../../man/mlb.5.scd"));
  std::string text;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] == '\\' && i + 1 < page.size()) ++i;
    text += page[i];
  }
  return std::regex_replace(text, std::regex("\n[|:]  "), "\n");
}

// Values of other fields, which only messages have: "must divide dim ({dim})".
std::string without_values(std::string_view requirement) {
  return std::regex_replace(std::string(requirement), std::regex(R"( \([^()]*\{[^()]*\))"), "");
}

}  // namespace

TEST_CASE("mlb(5) has a row for every field, rule and class", "[mlb]") {
  const std::string cells = page_cells();
  REQUIRE_FALSE(cells.empty());
  for (const MlbField& field : mlb_fields()) {
    const char* type = field.type == MlbType::tag   ? "char[4]"
                       : field.type == MlbType::u32 ? "u32"
                       : field.type == MlbType::f32 ? "f32"
                                                    : "96 bytes";
    const std::string row = fmt::format("\n{}\n{}\n{}\n{}\n", field.offset, type, field.name, field.meaning);
    CAPTURE(row);
    CHECK(cells.find(row) != std::string::npos);
  }
  for (const MlbRule& rule : mlb_rules()) {
    const std::string row =
        fmt::format("\n{}\n{}\n{}\n", rule.field, status_name(rule.status), without_values(rule.requirement));
    CAPTURE(row);
    CHECK(cells.find(row) != std::string::npos);
  }
  for (const Q8Class& row : q8_classes()) {
    CAPTURE(row.name);
    CHECK(cells.find(fmt::format("\n{}\n{}\n", row.bit, row.name)) != std::string::npos);
  }
  for (std::size_t i = 0; i < kMlbRoles; ++i) {
    const std::string name(role_name(static_cast<Role>(i)));
    CAPTURE(name);
    CHECK(cells.find(name) != std::string::npos);
  }
}
