#include "common/completion_parts.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

// %N is the tool's name, %I the one of its functions, %V the options that take values and the flags that make
// operands others.
constexpr std::string_view kFunctions = R"(# fish completion for %N, generated from its option table
function __%I_word # the value at the cursor
  string replace -r -- '^(--[^=]*=)?["\']?' '' (commandline -ct)
end
function __%I_is # operand FIRST LAST | instead FLAG | value N OPTION...: what the word at the cursor is
  set -l tokens (commandline -opc)
  set -l left 0
  set -l value 0
  set -l operand 0
  set -l option
  set -l instead
  for token in $tokens[2..-1]
    if test $left -gt 0
      set left (math $left - 1)
      set value (math $value + 1)
      continue
    end
    switch $token
%V      case '-*'
      case '*'
        set operand (math $operand + 1)
    end
  end
  if test $argv[1] = operand
    test $left -eq 0 -a -z "$instead" -a $operand -ge $argv[2] -a $operand -le $argv[3]
  else if test $argv[1] = instead
    test $left -eq 0 -a "$instead" = $argv[2]
  else
    test $left -gt 0 -a $value -eq $argv[2]; and contains -- $option $argv[3..-1]
  end
end
function __%I_names # SEPARATORS NAME...: behind what the word holds up to its last separator
  set -l before (string replace -r -- "[^$argv[1]]*\$" '' (__%I_word))
  for name in $argv[2..-1]
    echo $before$name
  end
end
function __%I_pattern # NAME...: behind PATTERN=
  string match -q '*=*' -- (__%I_word); and __%I_names '=' $argv
end
function __%I_files # SUFFIX...: and folders; any file where there is none of these
  set -l word (__%I_word)
  set -l found
  for path in $word*
    if test -d $path
      set -a found $path/
    else if contains -- .(string split -r -m 1 . -- $path)[-1] $argv
      set -a found $path
    end
  end
  test (count $found) -gt 0; or set found $word*
  test (count $found) -gt 0; and printf '%s\n' $found
end
function __%I_recipes
  __%I_files .json
  set -l program (command -v %N)
  set -l word (__%I_word)
  string match -q '*/*' -- $word; and return
  set -l recipes (string replace -r '/bin/[^/]*$' '' -- $program)/share/mlutils/recipes/$word*.json
  test (count $recipes) -gt 0; and printf '%s\n' $recipes
end
)";

std::string quoted_fish(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// The arguments of complete(1) for a value.
std::string action(const Values& values) {
  const std::string names = joined(values.names, " ");
  if (values.after_separator) return " -x -a " + quoted_fish("(__%I_pattern " + names + ")");
  if (!values.separators.empty())
    return " -x -a " + quoted_fish("(__%I_names " + quoted_fish(values.separators) + " " + names + ")");
  if (!values.names.empty()) return " -x -a " + quoted_fish(names);
  if (values.recipes) return " -x -a '(__%I_recipes)'";
  if (!values.files) return " -x";
  return values.suffixes.empty() ? " -r -F" : " -x -a '(__%I_files " + joined(values.suffixes, " ") + ")'";
}

}  // namespace

std::string fish_completion(const std::string& tool, const std::vector<OptionRow>& rows) {
  std::string takes, options, operands, others;
  std::vector<const OptionRow*> places;
  for (const OptionRow& row : rows) {
    if (row.operand) {
      places.push_back(&row);
      continue;
    }
    options += "complete -c %N";
    for (const std::string& name : row.short_names) options += " -s " + name;
    for (const std::string& name : row.long_names) options += " -l " + name;
    if (!row.values.empty()) options += action(row.values.front());
    options += " -d " + quoted_fish(short_description(row)) + "\n";
    const std::vector<std::string> names = dashed_names(row);
    if (row.operands) {
      takes += fmt::format("      case {}\n        set instead {}\n", joined(names, " "), names.back());
      others +=
          fmt::format("complete -c %N -n '__%I_is instead {}'{}\n", names.back(), action(*row.operands));
    }
    if (row.values.empty()) continue;
    takes += fmt::format("      case {}\n        set option {}\n        set left {}\n        set value 0\n",
                         joined(names, " "), names.back(), row.values.size());
    for (std::size_t i = 1; i < row.values.size(); ++i) {
      options +=
          fmt::format("complete -c %N -n {}{}\n", quoted(fmt::format("__%I_is value {} {}", i, names.back())),
                      action(row.values[i]));
    }
  }
  operands = "complete -c %N -f\n";
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t last = i + 1 == places.size() ? 9999 : i;
    operands += fmt::format("complete -c %N -n '__%I_is operand {} {}'{}\n", i, last,
                            action(places[i]->values.front()));
  }
  std::string script = replaced(std::string(kFunctions), "%V", takes) + operands + others + options;
  return replaced(replaced(script, "%I", identifier(tool)), "%N", tool);
}

}  // namespace cli
