#include "common/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// One word for a POSIX shell, and for fish with its own escape.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }
std::string quoted_fish(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> dashed_names(const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string& name : row.short_names) names.push_back("-" + name);
  for (const std::string& name : row.long_names) names.push_back("--" + name);
  return names;
}

// Stops at the first full stop: a completion menu has one line for each option.
std::string short_description(const OptionRow& row) {
  const std::string& text = row.description;
  return text.substr(0, std::min(text.find(". "), text.find("; ")));
}

std::string bash_script(const std::string& tool, const std::vector<OptionRow>& rows) {
  const std::string function = "_" + replaced(tool, "-", "_");
  std::string cases;
  std::vector<std::string> all;
  for (const OptionRow& row : rows) {
    if (row.operand) continue;
    const std::vector<std::string> names = dashed_names(row);
    for (const std::string& name : names) all.push_back(name);
    if (row.argument.empty()) continue;
    std::string action;
    if (!row.choices.empty()) {
      action = fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\")); ", quoted(joined(row.choices, " ")));
    } else if (row.files) {
      action = "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); ";
    }
    cases += fmt::format("    {}) {}return ;;\n", joined(names, "|"), action);
  }
  return fmt::format(R"(# bash completion for {0}, generated from its option table
{1}() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  case "$prev" in
{2}  esac
  if [[ $cur == -?* || $cur == - ]]; then
    COMPREPLY=($(compgen -W {3} -- "$cur"))
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}}
complete -F {1} {0}
)",
                     tool, function, cases, quoted(joined(all, " ")));
}

std::string zsh_script(const std::string& tool, const std::vector<OptionRow>& rows) {
  std::string specs;
  bool any_operand = false;
  for (const OptionRow& row : rows) {
    if (row.operand) {
      any_operand = true;
      continue;
    }
    std::string text = replaced(short_description(row), "\\", "\\\\");
    for (const char* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
    std::string value;
    if (!row.argument.empty()) {
      const std::string action = !row.choices.empty() ? "(" + joined(row.choices, " ") + ")"
                                 : row.files          ? "_files"
                                                      : " ";
      value = ":" + replaced(row.argument, ":", "\\:") + ":" + action;
    }
    const std::vector<std::string> names = dashed_names(row);
    const std::string others = row.many ? "*" : "(" + joined(names, " ") + ")";
    for (const std::string& name : names) {
      specs += " \\\n  " + quoted(others + name +
                                  (value.empty()            ? ""
                                   : name.starts_with("--") ? "="
                                                            : "+") +
                                  "[" + text + "]" + value);
    }
  }
  if (any_operand) specs += " \\\n  '*:file:_files'";
  return fmt::format(
      "#compdef {0}\n# zsh completion for {0}, generated from its option table\n_arguments -s -S{1}\n", tool,
      specs);
}

std::string fish_script(const std::string& tool, const std::vector<OptionRow>& rows) {
  std::string script = fmt::format("# fish completion for {}, generated from its option table\n", tool);
  for (const OptionRow& row : rows) {
    if (row.operand) continue;
    script += "complete -c " + tool;
    for (const std::string& name : row.short_names) script += " -s " + name;
    for (const std::string& name : row.long_names) script += " -l " + name;
    if (!row.choices.empty()) {
      script += " -x -a " + quoted_fish(joined(row.choices, " "));
    } else if (!row.argument.empty()) {
      script += row.files ? " -r -F" : " -x";
    }
    script += " -d " + quoted_fish(short_description(row)) + "\n";
  }
  return script;
}

}  // namespace

std::string completion_script(std::string_view shell, const std::string& tool,
                              const std::vector<OptionRow>& rows) {
  if (shell == "bash") return bash_script(tool, rows);
  if (shell == "zsh") return zsh_script(tool, rows);
  return fish_script(tool, rows);
}

}  // namespace cli
