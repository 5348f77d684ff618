#include "common/completion_parts.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

constexpr std::string_view kRecipes = R"((( $+functions[_%I_recipes] )) || _%I_recipes() {
  _files -g '*.json'
  compadd -U -- ${${commands[%N]:A}:h:h}/share/mlutils/recipes/${PREFIX}*.json(N)
}
)";

// An action of _arguments.
std::string action(const Values& values, const std::string& tool) {
  const std::string names = joined(values.names, " ");
  if (values.after_separator)
    return fmt::format("{{compset -P \"*{}\" && compadd -- {}}}", values.separators, names);
  if (!values.separators.empty())
    return fmt::format("{{compset -P \"*[{}]\"; compadd -S \"\" -- {}}}", values.separators, names);
  if (!values.names.empty()) return fmt::format("({})", names);
  if (values.recipes) return fmt::format("_{}_recipes", identifier(tool));
  if (!values.files) return " ";
  if (values.suffixes.empty()) return "_files";
  if (values.suffixes.size() == 1) return fmt::format("_files -g \"*{}\"", values.suffixes.front());
  std::vector<std::string> endings;
  for (const std::string& suffix : values.suffixes) endings.push_back(suffix.substr(1));
  return fmt::format("_files -g \"*.({})\"", joined(endings, "|"));
}

// What an operand may be: something else behind some flags.
std::string operand_action(const Values& values, const std::vector<OptionRow>& rows,
                           const std::string& tool) {
  std::string text;
  for (const OptionRow& row : rows) {
    for (const std::string& name : row.operands ? dashed_names(row) : std::vector<std::string>())
      text += fmt::format("if (( $+opt_args[{}] )) {{ {} }} else", name, action(*row.operands, tool));
  }
  return text.empty() ? action(values, tool) : fmt::format("{{{} {{ {} }}}}", text, action(values, tool));
}

std::string values_of(const OptionRow& row, const std::string& tool) {
  std::string text;
  for (const Values& values : row.values)
    text += fmt::format(":{}:{}", replaced(row.argument, ":", "\\:"), action(values, tool));
  return text;
}

}  // namespace

std::string zsh_completion(const std::string& tool, const std::vector<OptionRow>& rows) {
  std::string specs;
  bool recipes = false;
  std::vector<const OptionRow*> places;
  for (const OptionRow& row : rows) {
    for (const Values& values : row.values) recipes = recipes || values.recipes;
    if (row.operand) {
      places.push_back(&row);
      continue;
    }
    std::string text = replaced(short_description(row), "\\", "\\\\");
    for (const char* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
    const std::vector<std::string> names = dashed_names(row);
    const std::string others = row.many && row.values.size() < 2 ? "*" : "(" + joined(names, " ") + ")";
    for (const std::string& name : names) {
      // A long option with one value may have it behind '='.
      const std::string_view sign = row.values.empty()       ? ""
                                    : row.values.size() > 1  ? ""
                                    : name.starts_with("--") ? "="
                                                             : "+";
      specs +=
          " \\\n  " + quoted(fmt::format("{}{}{}[{}]{}", others, name, sign, text, values_of(row, tool)));
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool rest = i + 1 == places.size() && places[i]->many;
    specs +=
        " \\\n  " + quoted(fmt::format("{}:{}:{}", rest ? "*" : fmt::format("{}", i + 1), places[i]->argument,
                                       operand_action(places[i]->values.front(), rows, tool)));
  }
  std::string script =
      fmt::format("#compdef {0}\n# zsh completion for {0}, generated from its option table\n", tool);
  if (recipes) script += replaced(replaced(std::string(kRecipes), "%I", identifier(tool)), "%N", tool);
  return script + fmt::format("_arguments -s -S{}\n", specs);
}

}  // namespace cli
