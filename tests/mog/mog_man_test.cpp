// The manual's tables of .mog say what the code does.

#include "mog_support.hpp"

#include <fmt/format.h>

#include <regex>

using namespace ml;

TEST_CASE("mog(5) has a row for every field, architecture and encoding, and names every slot", "[mog]") {
  const std::string page = read_file(data_path("../../man/mog.5.scd"));
  std::string text;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] == '\\' && i + 1 < page.size()) ++i;
    text += page[i];
  }
  const std::string cells = std::regex_replace(text, std::regex("\n[|:]  "), "\n");
  for (const MogField& field : mog_fields()) {
    std::string type = fmt::format("{} bytes", field.n_bytes);
    if (field.type == MogType::tag) type = "char[4]";
    if (field.type == MogType::u32) type = "u32";
    if (field.type == MogType::u64) type = "u64";
    if (field.type == MogType::f32) type = "f32";
    const std::string row = fmt::format("\n{}\n{}\n{}\n{}\n", field.offset, type, field.name, field.meaning);
    CAPTURE(row);
    CHECK(cells.find(row) != std::string::npos);
  }
  for (const MogArchitecture& row : mog_architectures()) {
    CAPTURE(row.name);
    CHECK(cells.find(fmt::format("\n{}\n{}\n", row.id, row.name)) != std::string::npos);
  }
  for (const MogEncoding& row : mog_encodings()) {
    const std::string base = row.name.substr(0, row.name.find('_'));
    CAPTURE(row.name);
    CHECK(cells.find(fmt::format("\n{}\n{}\n", row.id % 16, base)) != std::string::npos);
  }
  for (const MogSlot slot : mog_slots(1)) {
    std::string name = mog_slot_name(slot);
    name = name.substr(name.rfind('.') + 1);
    CAPTURE(name);
    CHECK(text.find(name) != std::string::npos);
  }
}
