#include "common/help.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

constexpr std::size_t kWidth = 79;
constexpr std::size_t kIndent = 26;  // of the descriptions

// Appends words, breaking lines before kWidth; `column` is where the text starts.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent) {
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

std::string names_of(const OptionRow& row) {
  if (row.operand) return "  " + row.argument;
  std::string names;
  for (const std::string& name : row.short_names) names += (names.empty() ? "  -" : ", -") + name;
  if (names.empty()) names = "    ";
  bool first = row.short_names.empty();
  for (const std::string& name : row.long_names) {
    names += (first ? "  --" : ", --") + name;
    first = false;
  }
  if (!row.argument.empty()) names += " " + row.argument;
  return names;
}

void append_row(std::string& out, const OptionRow& row) {
  const std::string names = names_of(row);
  out += names;
  if (names.size() + 2 > kIndent) {
    out += '\n' + std::string(kIndent, ' ');
  } else {
    out += std::string(kIndent - names.size(), ' ');
  }
  std::string description = row.description;
  if (!row.default_value.empty()) description += fmt::format(" [{}]", row.default_value);
  append_wrapped(out, description, kIndent, kIndent);
}

}  // namespace

std::string help_text(std::string_view name, std::string_view summary, std::string_view example,
                      const std::vector<OptionRow>& rows) {
  std::string usage = "[OPTION]...";
  for (const OptionRow& row : rows) {
    if (!row.operand) continue;
    usage += fmt::format(fmt::runtime(row.required ? " {}" : " [{}]"), row.argument);
    if (row.many) usage += "...";
  }
  std::string out = fmt::format("Usage: {} ", name);
  append_wrapped(out, usage, out.size(), out.size());
  append_wrapped(out, summary, 0, 0);
  std::string group;
  for (const OptionRow& row : rows) {
    const std::string heading = row.operand ? "Operands" : row.group;
    if (heading != group) out += fmt::format("\n{}:\n", heading);
    group = heading;
    append_row(out, row);
  }
  return out + fmt::format("\nExample:\n  {}\n", example);
}

}  // namespace cli
